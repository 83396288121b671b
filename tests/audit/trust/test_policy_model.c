/* SPDX-License-Identifier: Apache-2.0
 * Clauses about the model: its recipe, figures, columns, drift, rows, trials, findings and card, met and unmet. */
#include "tests/audit/trust/policy_steps.h"

/* What a run says of its model, by the names it has there. */
static void models_are_held_to_the_policy(void **state)
{
    rp_run_facts facts = {
        parsed("{\"data\":{\"denominator\":\"n\",\"train_on_all\":false,\"weight\":\"w\","
               "\"where\":[{\"column\":\"kept\"}]},"
               "\"model\":{\"hidden\":[8,4]},\"seed\":7,\"train\":{\"epochs\":20,"
               "\"optimizer\":{\"kind\":\"adamw\",\"lr\":\"0.01\"}},\"name\":null}"),
        parsed("{\"columns\":[{\"kind\":\"ignore\",\"name\":\"gender\"},{\"kind\":\"numeric\",\"name\":\"age\"},"
               "{\"kind\":\"target\",\"name\":\"bad\"}]}"),
        parsed(
            "{\"training\":{\"accuracy\":\"0.9\",\"rows\":80},\"validation\":{\"accuracy\":\"0.7\",\"figures\":{\"ks\":"
            "{\"value\":\"0.25\"}},\"loss\":\"nan\",\"rows\":20}}"),
        NULL,
        "",
        "",
        NULL,
        NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("metrics: {of: accuracy, at_least: 0.5}\n", false, "validation has no such figure"); /* nobody has looked */
    expect("recipe: {key: parent, absent: true}\n", false, "no recipe that can be read");
    expect("columns: {not_used: [gender]}\n", false, "no schema that can be read");
    v.facts = &facts;
    expect("metrics: {of: accuracy, at_least: 0.7}\n", true, "accuracy of validation at least 0.7: validation has 0.7");
    expect("metrics: {of: accuracy, at_least: 0.7000001}\n", false, "validation has 0.7");
    expect("metrics: {of: accuracy, part: training, at_least: 0.8, at_most: 0.95}\n", true, "training has 0.9");
    expect("metrics: {of: accuracy, part: training, at_most: 0.8}\n", false, "training has 0.9");
    expect("metrics: {of: accuracy, gap: 0.21}\n", true, "no further apart than 0.21: training has 0.9, validation");
    expect("metrics: {of: accuracy, gap: 0.1}\n", false, "no further apart than 0.1");
    expect("metrics: {of: accuracy, at_least: 0.8, gap: 1}\n", false, "no further apart than 1");
    expect("metrics: {of: rows, at_least: 20}\n", true, "validation has 20");
    expect("metrics: {of: rows, at_least: 21}\n", false, "validation has 20");
    expect("metrics: {of: figures.ks.value, at_least: 0.2}\n", true, "validation has 0.25");
    expect("metrics: {of: figures.ks, at_least: 0}\n", false, "no such figure");
    expect("metrics: {of: auc, gap: 1}\n", false, "training has no such figure");
    expect("metrics: {of: loss, at_most: 1}\n", false, "validation has nan");
    expect("metrics: {of: loss, at_least: -1}\n", false, "validation has nan");
    expect("recipe: {key: train.epochs, at_least: 1, at_most: 20}\n", true, "it is 20");
    expect("recipe: {key: train.epochs, at_most: 19}\n", false, "it is 20");
    expect("recipe: {key: train.optimizer.lr, equals: 0.010}\n", true, "it is 0.01");
    expect("recipe: {key: train.optimizer.kind, one_of: [sgd, adam]}\n", false, "it is adamw");
    expect("recipe: {key: train.optimizer.kind, one_of: [sgd, adamw]}\n", true, "one of sgd, adamw");
    expect("recipe: {key: train.optimizer, equals: adamw}\n", false, "it is a section");
    expect("recipe: {key: model.hidden, equals: [8, 4]}\n", true, "is [8, 4]");
    expect("recipe: {key: model.hidden, equals: [4, 8]}\n", false, "it is [8, 4]");
    expect("recipe: {key: data.train_on_all, equals: true}\n", false, "it is false");
    expect("recipe: {key: name, equals: null}\n", true, "it is null");
    expect("recipe: {key: data.split, absent: true}\n", true, "it is not there");
    expect("recipe: {key: seed, absent: true}\n", false, "it is 7");
    expect("recipe: {key: data.split, equals: x}\n", false, "it is not there");
    expect("columns: {not_used: [gender, bad]}\n", true, "it takes in age");
    expect("columns: {not_used: [gender, age]}\n", false, "it takes in age");
    expect("columns: {not_used: [gendr, gender, adress]}\n", true,
           "takes in age; its table has no column gendr, adress");
    expect("columns: {not_used: [gender, kept]}\n", false, "rows are chosen by kept");
    expect("recipe: {key: data.where, absent: true}\n", false, "it is [{\"column\":\"kept\"}]");
    expect("recipe: {key: data.where, equals: '[]'}\n", false, "it is [{\"column\":\"kept\"}]");
    expect("columns: {not_used: [w]}\n", false, "rows are weighed by w");
    expect("columns: {not_used: [n]}\n", false, "rows are weighed by n");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
    rp_json_free(facts.metrics);
}

/* Without a header no name is a column's; with one a recipe may name columns by number all the same. */
static void columns_without_names_are_their_numbers(void **state)
{
    rp_run_facts facts = {
        parsed("{\"data\":{\"weight\":1,\"group\":0,\"where\":[{\"column\":2},{\"column\":7}]}}"),
        parsed("{\"columns\":[{\"kind\":\"ignore\",\"name\":null},{\"kind\":\"ignore\",\"name\":null},"
               "{\"kind\":\"ignore\",\"name\":null},{\"kind\":\"numeric\",\"name\":null},"
               "{\"kind\":\"target\",\"name\":null}]}"),
        NULL,
        NULL,
        "",
        "",
        NULL,
        NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    v.facts = &facts;
    expect("columns: {not_used: [gender]}\n", false,
           "it takes in 3; its table has no header, so that nobody can tell "
           "whether one is \"gender\"");
    expect("columns: {not_used: ['3']}\n", false, "it takes in 3");
    expect("columns: {not_used: ['1']}\n", false, "rows are weighed by 1");
    expect("columns: {not_used: ['2']}\n", false, "rows are chosen by 2");
    expect("columns: {not_used: ['7']}\n", false, "rows are chosen by 7");
    expect("columns: {not_used: ['03']}\n", false, "nobody can tell whether one is \"03\": give their numbers");
    expect("columns: {not_used: ['00']}\n", false, "nobody can tell whether one is");
    expect("columns: {not_used: ['0', '4']}\n", true, "it takes in 3; which rows train goes by 0 (data.group)");
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
    facts.recipe = parsed("{\"data\":{\"weight\":1,\"time\":\"born\",\"where\":[{\"column\":\"born.month\"}]}}");
    facts.schema = parsed("{\"columns\":[{\"kind\":\"date\",\"name\":\"born\"},{\"kind\":\"ignore\",\"name\":\"w\"},"
                          "{\"kind\":\"numeric\",\"name\":\"a\"},{\"kind\":\"numeric\",\"name\":\"a.b\"}]}");
    expect("columns: {not_used: [w]}\n", false, "rows are weighed by w");
    expect("columns: {not_used: [born]}\n", false, "rows are chosen by born; which rows train goes by born");
    expect("columns: {not_used: [a.c]}\n", true, "it takes in born, a, a.b");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(facts.schema);
}

/* A schema is as long as whoever wrote the archive likes: each word looks for its date once. */
static void columns_without_end_are_looked_at_once(void **state)
{
    enum { COLUMNS = 40000, SECONDS = 4 };
    rp_run_facts facts = {.recipe = NULL};
    rp_buffer text = {0};
    clock_t begun;

    (void)state;
    rp_buffer_text(&text, "{\"columns\":[");
    for (int i = 0; i < COLUMNS; i++)
        rp_buffer_printf(&text, "%s{\"kind\":\"numeric\",\"name\":\"a.%d\"}", i ? "," : "", i);
    rp_buffer_text(&text, "]}");
    assert_ok(rp_json_parse(&facts.schema, (const char *)text.data, text.size, false, "facts", &err));
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    v.facts = &facts;
    begun = clock();
    expect("columns: {not_used: [a]}\n", true, "it takes in a.0, a.1");
    assert_true((clock() - begun) / CLOCKS_PER_SEC < SECONDS);
    v.facts = NULL;
    rp_json_free(facts.schema);
    rp_buffer_free(&text);
}

/* A number that has no value left has no KS, wherever it stands among the columns: that is no small one. */
static void drift_without_a_figure_is_not_small(void **state)
{
    static rp_stated_figures figures = {.rows = 100, .number = 1};
    static const struct {
        const char *columns, *scores, *clause, *says;
        bool met;
    } cases[] = {
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"},{\"name\":\"c\",\"psi\":\"0\"}", "\"0.05\"", "ks: 0.2",
         "KS 0.1 of x, period 1", true},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "\"0.15\"", "ks: 0.2", "KS 0.15 of a score, period 1", true},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "\"0.3\"", "ks: 0.2", "KS 0.3 of a score, period 1", false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"},{\"ks\":\"1\",\"name\":\"x\",\"psi\":\"3\"}", "\"0.05\"",
         "ks: 0.2", "KS 1 of x, no KS of gone, period 1", false},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"},{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"}", "\"0.05\"",
         "ks: 0.2", "KS 0.1 of x, no KS of gone, period 1", false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"3\"}", "\"0.05\"", "ks: 0.2",
         "KS 0.05 of a score, no KS of gone, period 1", false},
        {"{\"ks\":\"0.1\",\"name\":\"x\",\"psi\":\"0\"}", "null", "ks: 0.2", "KS 0.1 of x, no KS of a score, period 1",
         false},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":\"0\"}", "null", "ks: 0.2",
         "no KS of gone: the training rows were not", false},
        {"{\"name\":\"c\",\"psi\":\"0\"}", "\"0.05\"", "ks: 0.2", "KS 0.05 of a score, period 1", true},
        {"{\"ks\":null,\"name\":\"gone\",\"psi\":null},{\"ks\":\"0\",\"name\":\"x\",\"psi\":\"0\"}", "\"0\"", "csi: 9",
         "no CSI of gone, KS 0 of x, no KS of gone, period 1", false},
    };
    char text[400];

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    state_by('1', RP_STATEMENT_MONITORING)->figures = &figures;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "{\"columns\":[%s],\"scores\":[{\"ks\":%s,\"psi\":\"0\"}]}", cases[i].columns,
                       cases[i].scores);
        figures.predicate = parsed(text);
        (void)snprintf(text, sizeof text, "drift: {by: r, %s, seen: 1}\n", cases[i].clause);
        expect(text, cases[i].met, cases[i].says);
        rp_json_free(figures.predicate);
    }
}

/* What would count them is another command for each kind of statement. */
static void rows_that_nobody_counted_are_told_by_what_counts_them(void **state)
{
    static rp_stated_figures figures = {.rows = 100, .number = 1, .seen = -1, .predecessor = ID("9")};
    rp_run_facts facts = {.recipe = parsed("{\"predecessor\":\"" ID("9") "\"}")};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    figures.predicate = parsed("{}");
    state_by('1', RP_STATEMENT_MONITORING)->figures = &figures;
    v.facts = &facts;
    expect("drift: {by: r, psi: 1}\n", false, "reprise monitor --withheld DIR counts them");
    list[1].kind = RP_STATEMENT_RETRAINING;
    expect("fall: {by: r, auc: 1}\n", false, "counts them with --withheld, --parent-withheld and --parent");
    list[1].kind = RP_STATEMENT_VALIDATION;
    expect("validation: {by: r}\n", false, "does not say how many of its rows were trained on");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(figures.predicate);
}

/* A figure out of bounds refutes, although a count is not known that would take the statement out of scope; one that
 * meets the clause beside it does not help. What is not said refutes nothing, and neither does what is out of scope. */
static void who_says_no_need_not_have_counted(void **state)
{
    static rp_stated_figures bad = {.rows = 100, .number = 1, .predecessor = ID("9")},
                             good = {.rows = 100, .number = 1, .predecessor = ID("9")};
    static const char cut[] =
        "{\"options\":{\"threshold\":null},\"figures\":{\"auc\":\"%s\",\"child\":{\"discrimination\":{\"auc\":\"%s\"}},"
        "\"parent\":{\"discrimination\":{\"auc\":\"0.8\"}}},\"scores\":[{\"psi\":\"%s\"}],"
        "\"slices\":[{\"by\":\"g\",\"parts\":[{\"figures\":{\"auc\":\"%s\",\"rows\":50},"
        "\"value\":\"a\"}]}],\"groups\":[{\"by\":\"h\",\"favourable\":\"no\",\"summary\":"
        "{\"difference\":\"0\",\"ratio\":\"%s\"}}]}";
    static const struct {
        rp_statement_kind kind;
        const char *clause, *says;
    } cases[] = {
        {RP_STATEMENT_VALIDATION, "validation: {by: r, of: auc, at_least: 0.7}\n",
         "not looked at: what chose that one is not counted; it does not say"},
        {RP_STATEMENT_VALIDATION, "slices: {column: g, of: auc, at_least: 0.7, by: r}\n", "a with 0.2; it does not"},
        {RP_STATEMENT_VALIDATION, "selection: {column: h, favourable: 'no', ratio: 0.8, by: r}\n", "ratio 0.2, "},
        {RP_STATEMENT_MONITORING, "drift: {by: r, psi: 0.7}\n", "PSI 0.9, period 1; it does not say"},
        {RP_STATEMENT_RETRAINING, "fall: {by: r, auc: 0.1}\n", "auc 0.2 after 0.8; it does not say"},
    };
    static const struct {
        int64_t seen, other, left_out;
        bool unknown;
    } counts[] = {{-1, -1, 0, true}, {0, -1, 0, true}, {0, 0, -1, true}, {90, -1, 0, false}, {-1, -1, 90, false}};
    rp_run_facts facts = {.recipe = parsed("{\"predecessor\":\"" ID("9") "\"}")};
    char text[900];

    (void)state;
    (void)snprintf(text, sizeof text, cut, "0.9", "0.9", "0.1", "0.9", "0.9");
    good.predicate = parsed(text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const bool falls = cases[i].kind == RP_STATEMENT_RETRAINING;

            if (falls && k != 0 && k != 3) /* rows that chose, and those that are left out, are none of its matter */
                continue;
            begin();
            v.facts = &facts;
            state_by('0', RP_STATEMENT_PROVENANCE);
            state_by('1', cases[i].kind)->figures = &bad;
            state_by('2', cases[i].kind)->figures = &good;
            bad.seen = counts[k].seen;
            bad.other = counts[k].other;
            bad.left_out = counts[k].left_out;
            (void)snprintf(text, sizeof text, cut, "0.2", "0.2", "0.9", "0.2", "0.2");
            bad.predicate = parsed(text);
            expect(cases[i].clause, !counts[k].unknown, counts[k].unknown ? cases[i].says : "");
            rp_json_free(bad.predicate);
            bad.predicate = parsed("{}");
            expect(cases[i].clause, true, "");
            rp_json_free(bad.predicate);
        }
    (void)snprintf(text, sizeof text, cut, "0.2", "0.2", "0.9", "0.2", "0.2");
    bad.predicate = parsed(text);
    bad.seen = 0;
    expect("fall: {by: r, auc: 0.1, same_recipe: true}\n", false, "auc 0.2 after 0.8; it does not say that its recipe");
    bad.validation = true; /* of a table that the archive does not hold */
    expect("fall: {by: r, auc: 0.1}\n", false, "auc 0.2 after 0.8; it judged rows of the archive, which does not hold");
    bad.rows = 1;
    expect("fall: {by: r, auc: 0.1, rows: 100}\n", true, "judged too few rows");
    rp_json_free(bad.predicate);
    rp_json_free(good.predicate);
    rp_json_free(facts.recipe);
    v.facts = NULL;
}

static void trials_are_held_to_the_policy(void **state)
{
    static const char variants[] = "\"chosen\":1,\"folds\":2,\"number\":8,\"variants\":["
                                   "{\"kind\":\"search\",\"mean\":{\"auc\":\"0.6\"}},"
                                   "{\"kind\":\"search\",\"mean\":{\"auc\":\"0.8\"}},{\"kind\":\"linear\"},"
                                   "{\"kind\":\"seed\"}]}";
    char text[400];
    rp_run_facts none = {NULL, NULL, parsed("{\"validation\":{\"auc\":\"0.9\"}}"), NULL, "", "", NULL, NULL},
                 some = {0};

    (void)snprintf(text, sizeof text, "{\"trials\":{%s}", variants);
    some.metrics = parsed(text);
    (void)snprintf(text, sizeof text, "{%s", variants);
    some.trials = parsed(text);
    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("trials: recorded\n", false, "no metrics");
    v.facts = &none;
    expect("trials: recorded\n", false, "it records 0 trials");
    expect("trials: {at_most: 8}\n", true, "it records 0 trials");
    v.facts = &some;
    expect("trials: recorded\n", true, "it records 8 trials");
    expect("trials: {at_most: 8}\n", true, "at most 8");
    expect("trials: {at_most: 7}\n", false, "it records 8 trials");
    expect("trials: {seeds: 1, linear: true}\n", true, "1 of them other seeds, one a linear challenger");
    expect("trials: {seeds: 2}\n", false, "1 of them other seeds");
    for (int i = 0; i < 3; i++) { /* gone, another number, one trial less */
        rp_json *whole = some.trials;

        (void)snprintf(text, sizeof text, "{%s", variants);
        if (i == 1)
            memcpy(strstr(text, "\"number\":8") + 9, "9", 1);
        if (i == 2)
            memcpy(strstr(text, ",{\"kind\":\"seed\"}]}"), "]}", 3);
        some.trials = i ? parsed(text) : NULL;
        expect("trials: recorded\n", false, "do not have the same trials");
        rp_json_free(some.trials);
        some.trials = whole;
    }
    expect("metrics: {of: auc, part: folds, at_least: 0.7}\n", true, "folds has 0.8");
    expect("metrics: {of: auc, part: folds, at_least: 0.81}\n", false, "folds has 0.8");
    v.facts = NULL;
    rp_json_free(some.trials);
    rp_json_free(none.metrics);
    rp_json_free(some.metrics);
}

static void find_by(char by, const char *id, rp_severity severity, bool closed, int hour)
{
    static rp_stated_finding finding[STATEMENTS];
    rp_stated_finding *made = &finding[v.statements];
    rp_verified_statement *one = state_by(by, RP_STATEMENT_FINDING);

    one->finding = made;
    *made = (rp_stated_finding){.severity = severity, .closed = closed, .owner = "credit"};
    strcpy(made->id, id);
    (void)snprintf(one->time, sizeof one->time, "2026-01-01T%02u:00:00Z", (unsigned)hour % 24);
}

static void findings_are_held_to_the_policy(void **state)
{
    static const char none[] = "findings: {of: r}\n", medium[] = "findings: {of: r, open: medium}\n";
    rp_stated_finding lost = {.severity = RP_SEVERITY_LOW};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect(none, true, "none is open here");
    find_by('3', "X", RP_SEVERITY_CRITICAL, false, 1); /* of no such group */
    expect(none, true, "none is open here");
    find_by('1', "A", RP_SEVERITY_MEDIUM, false, 1);
    expect(none, false, "medium A (credit) is open");
    expect(medium, true, "medium A (credit) is open");
    expect("findings: {of: r, open: low}\n", false, "medium A");
    find_by('2', "A", RP_SEVERITY_LOW, true, 2); /* another's does not close it */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "B", RP_SEVERITY_LOW, true, 2); /* nor another id */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 0); /* nor one from before */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 1); /* in one second the open one stands */
    expect(none, false, "medium A (credit) is open");
    find_by('1', "A", RP_SEVERITY_MEDIUM, true, 3);
    expect(none, true, "none is open here");
    find_by('1', "A", RP_SEVERITY_LOW, false, 4); /* opened again, and due */
    expect(medium, true, "low A (credit) is open");
    strcpy(list[v.statements - 1].finding->due, "2026-01-02T00:00:00Z");
    expect(medium, false, "low A (credit, overdue) is open");
    strcpy(list[v.statements - 1].finding->due, "2999-01-02T00:00:00Z");
    expect(medium, true, "low A (credit) is open");
    find_by('1', "A", RP_SEVERITY_LOW, true, 5); /* of a time to come nothing is settled */
    strcpy(list[v.statements - 1].time, "2999-01-01T00:00:00Z");
    expect(none, false, "low A");
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    other[0].kind = RP_STATEMENT_FINDING; /* whose key was not given */
    other[0].finding = &lost;
    strcpy(other[0].key_id, key('2'));
    v.others = 1;
    expect(medium, false, "nobody can tell whether it is settled");
    strcpy(other[0].key_id, key('7'));
    expect(medium, true, "none is open here");
}

static void cards_are_held_to_the_policy(void **state)
{
    rp_run_facts facts = {parsed("{\"card\":{\"owner\":\"credit\",\"valid_until\":\"2999-12-31\"}}"),
                          NULL,
                          NULL,
                          NULL,
                          "",
                          "",
                          NULL,
                          NULL},
                 old = {parsed("{\"card\":{\"valid_until\":\"2020-12-31\"}}"), NULL, NULL, NULL, "", "", NULL, NULL},
                 none = {parsed("{\"name\":\"\"}"), NULL, NULL, NULL, "", "", NULL, NULL};

    (void)state;
    begin();
    state_by('0', RP_STATEMENT_PROVENANCE);
    expect("card: [owner]\n", false, "does not say owner");
    v.facts = &facts;
    expect("card: [owner, valid_until]\n", true, "it does");
    expect("card: [owner, purpose, tier]\n", false, "it does not say purpose, tier");
    expect("valid: true\n", true, "until 2999-12-31");
    v.facts = &old;
    expect("valid: true\n", false, "until 2020-12-31");
    v.facts = &none;
    expect("valid: true\n", false, "does not say valid_until");
    v.facts = NULL;
    rp_json_free(facts.recipe);
    rp_json_free(old.recipe);
    rp_json_free(none.recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_held_to_the_policy),
        cmocka_unit_test(findings_are_held_to_the_policy),
        cmocka_unit_test(cards_are_held_to_the_policy),
        cmocka_unit_test(columns_without_names_are_their_numbers),
        cmocka_unit_test(columns_without_end_are_looked_at_once),
        cmocka_unit_test(drift_without_a_figure_is_not_small),
        cmocka_unit_test(rows_that_nobody_counted_are_told_by_what_counts_them),
        cmocka_unit_test(who_says_no_need_not_have_counted),
        cmocka_unit_test(trials_are_held_to_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
