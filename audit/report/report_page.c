/* SPDX-License-Identifier: Apache-2.0
 * The frame of a report: head, style sheet, foot. Nothing is fetched and nothing runs: a content security policy says
 * so to the browser too. */
#include "audit/report/report.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

static const char colours[] =
    ":root{color-scheme:light dark;--ink:#16191d;--soft:#4d565f;--rule:#d4d9de;--faint:#eef1f4;--paper:#fff;"
    "--blue:#1f5c99;--pale:#9dbbd8;--heat:31,92,153;--red:#a8332a;--green:#1f6b3a;--amber:#7d5300;--band:#e1e6eb}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#a7b0b9;--rule:#3b434b;--faint:#22282e;"
    "--paper:#15191d;"
    "--blue:#79b2ea;--pale:#4f7ba8;--heat:90,150,215;--red:#f0938a;--green:#7cc796;--amber:#e0b25c;--band:#2c343c}}\n"
    "@media print{:root{color-scheme:light;--ink:#000;--soft:#333;--rule:#aaa;--faint:#fff;--paper:#fff;--blue:#123f6d;"
    "--pale:#9a9a9a;--red:#000;--green:#000;--amber:#000;--band:#e2e2e2}}\n";

static const char text_style[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:2.5rem 1.5rem 4rem;max-width:52rem;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 'Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif;font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.75rem;line-height:1.2;margin:.15rem 0 .5rem;font-weight:600;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;font-weight:600;margin:2.75rem 0 .9rem;padding-bottom:.3rem;border-bottom:1px solid "
    "var(--rule)}\n"
    "h3{font-size:.95rem;font-weight:600;margin:1.6rem 0 .5rem}\n"
    "h4{font-size:.9rem;font-weight:600;margin:1.2rem 0 .3rem}\n"
    "p{margin:.5rem 0;max-width:44rem}\n"
    ".kind{color:var(--soft);font-size:.85rem;letter-spacing:.04em;margin:0}\n"
    ".id{font-size:.8rem;color:var(--soft);margin:0}\n"
    "code,pre,.hash{font-family:'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;font-size:.8em;"
    "overflow-wrap:anywhere}\n"
    "pre{background:var(--faint);border:1px solid var(--rule);padding:.7rem .9rem;white-space:pre-wrap;margin:.4rem 0 "
    "1rem;"
    "line-height:1.6}\n"
    "a{color:var(--blue)}\n"
    ".note,.soft{color:var(--soft);font-size:.87rem}\n"
    ".verdict{border:1px solid var(--rule);border-left:5px solid var(--soft);padding:.85rem 1.1rem;margin:1rem 0 "
    "1.2rem;"
    "break-inside:avoid}\n"
    ".verdict>strong{font-size:1.1rem}.verdict strong{font-weight:600}\n.verdict p{margin:.25rem 0 0}\n"
    "p,li{overflow-wrap:break-word}\n"
    ".good{border-left-color:var(--green)}.good strong{color:var(--green)}\n"
    ".open{border-left-color:var(--amber)}.open strong{color:var(--amber)}\n"
    ".bad{border-left-color:var(--red)}.bad strong{color:var(--red)}"
    "\nul.evidence{margin:0;padding-left:1.1rem}.verdict ul{margin:.3rem 0 0;padding-left:1.2rem}\n"
    ".verdict.note{padding:.5rem 1.1rem}\n"
    "dl{display:grid;grid-template-columns:repeat(4,1fr);gap:.9rem;margin:1.2rem 0 1.4rem}\n"
    "dl div{border-top:2px solid var(--rule);padding-top:.4rem}\n"
    "dt{font-size:.8rem;color:var(--soft)}\ndd{margin:0;font-size:1.25rem;font-weight:600;overflow-wrap:anywhere}\n"
    "dd small{display:block;font-size:.78rem;font-weight:400;color:var(--soft)}\n"
    "@media (max-width:34rem){dl{grid-template-columns:1fr 1fr}}\n"
    "footer{margin-top:3rem;border-top:1px solid var(--rule);padding-top:.8rem;color:var(--soft);font-size:.82rem}\n";

static const char table_style[] =
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:.88rem;line-height:1.4;margin:.4rem 0 1rem}\n"
    "caption{text-align:left;color:var(--soft);font-size:.85rem;padding:0 0 .35rem}\n"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--rule);"
    "overflow-wrap:anywhere}\n"
    "thead th,thead td{font-weight:600;border-bottom-color:var(--soft);vertical-align:bottom}\nthead "
    "th{overflow-wrap:normal}\n"
    "table.slim{width:auto;min-width:min(30rem,100%)}\ntable.columns th:first-child{width:27%}\n.w{white-space:nowrap}"
    "\n"
    "table.statements .hash{white-space:nowrap;font-size:.72em}\n"
    "table.policy td:first-child{white-space:nowrap}\n"
    "tbody th{font-weight:400;min-width:8rem;max-width:18rem;overflow-wrap:break-word}"
    "tbody th.n{min-width:0}thead th.n{white-space:normal}\n"
    ".wide tbody th{min-width:9rem}td.text{min-width:11rem}.soft{overflow-wrap:anywhere}\n"
    "table.dense .n{padding-right:.7rem}table.dense{font-size:.82rem}\n"
    "table.dense tbody th{min-width:6rem;max-width:11rem}table.dense td.text{min-width:6.5rem}\n"
    "table.facts{table-layout:fixed}\ntable.facts th{width:13rem;color:var(--soft)}\n"
    ".n{text-align:right;white-space:nowrap;padding-right:1.4rem}\nth:last-child,td:last-child{padding-right:0}\n"
    "tfoot th,tfoot td{font-weight:600;border-bottom:0}\n"
    "table.members td,table.members th{font-size:.8rem}\ntable.members .hash{white-space:nowrap;font-size:.72em}\n"
    "td.bars{width:22%}\n"
    "svg.bar{width:100%;height:.55rem;display:block;margin-top:.4rem}\n.bar .rest{fill:var(--faint)}.bar "
    ".part{fill:var(--blue)}.bar .soft{fill:var(--pale)}.bar .spread{fill:var(--ink)}\n"
    "table.matrix{width:auto;min-width:16rem}\ntable.matrix td,table.matrix th{padding:.3rem .6rem;text-align:right}\n"
    "table.matrix th{white-space:nowrap;max-width:11rem;overflow:hidden;text-overflow:ellipsis}\n"
    "table.matrix td{white-space:nowrap}table.matrix td.hit{font-weight:600}\ntable.matrix tbody th{text-align:left;"
    "padding-left:0}\n"
    "table.facts td strong{font-weight:600}\n"
    "table.members td,table.members th{padding-top:.08rem;padding-bottom:.08rem;border-bottom:0}\n"
    "@media (max-width:40rem){body{padding:1.2rem .9rem 3rem}"
    "table:not(.facts){display:block;overflow-x:auto;width:100%}"
    "table.facts,table.facts tbody,table.facts tr,table.facts th,table.facts td{display:block;width:auto;"
    "padding-right:0}"
    "table.facts th{border-bottom:0;padding-bottom:0;font-size:.82rem}table.facts td{padding-top:0}"
    "table.statements .hash,table.members .hash{white-space:normal}th,td{padding-right:.7rem}.n{padding-right:.8rem}"
    "table:not(.facts) tbody th,.wide tbody th{min-width:5.5rem;max-width:11rem}caption{max-width:calc(100vw - 1.8rem)}"
    "table:not(.facts):not(.members):not(.statements) td{overflow-wrap:break-word}}\n"
    ".many{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.6rem,1fr));gap:0 .8rem}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fill,minmax(18rem,1fr));gap:0 2rem}\n"
    ".q1{background:rgba(var(--heat),.10)}.q2{background:rgba(var(--heat),.20)}.q3{background:rgba(var(--heat),.30)}"
    ".q4{background:rgba(var(--heat),.40)}\n";

static const char chart_style[] =
    "figure{margin:.6rem 0 .2rem;break-inside:avoid}\nsvg.chart{width:100%;height:auto;display:block}\n"
    ".chart text{font-size:12px;fill:var(--soft);font-family:inherit;paint-order:stroke;stroke:var(--paper);"
    "stroke-width:3px}\n.chart .middle{text-anchor:middle}"
    ".chart .end{text-anchor:end}.chart .label{fill:var(--ink)}\n"
    ".chart line{stroke-width:1}.chart .grid{stroke:var(--rule)}.chart .axis{stroke:var(--soft)}\n"
    ".chart .raw{stroke:var(--pale);stroke-width:1}.chart .mean{stroke:var(--blue);stroke-width:2}\n"
    ".chart .rest{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}.chart "
    ".alt{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:7 3}\n"
    ".chart polygon.band{fill:var(--band);stroke:none}.chart .span{stroke:var(--band);stroke-width:7}"
    ".chart .one{stroke:var(--soft);stroke-width:.6}\n"
    ".chart polyline{fill:none;stroke-linejoin:round}.chart circle.mean{fill:var(--blue);stroke:none}\n"
    ".chart rect.dark{fill:var(--blue)}.chart rect.light{fill:var(--faint);stroke:var(--soft);stroke-width:.8}"
    ".chart rect.mean{fill:var(--blue);stroke:none}\n"
    "figcaption{color:var(--soft);font-size:.82rem;margin:.1rem 0 .8rem;overflow-wrap:anywhere}"
    "figcaption strong{color:var(--ink);font-weight:600}\n";

static const char print_style[] =
    "@page{size:A4;margin:16mm 16mm 18mm;@bottom-right{content:'Page ' counter(page) ' of ' counter(pages);font:7.5pt "
    "Arial,'Liberation Sans',sans-serif;color:#333}}\n"
    "@media print{html{font-size:10pt}\n"
    "body{padding:0;max-width:none;font-size:9.5pt;line-height:1.4}h1{font-size:18pt}h2{font-size:12.5pt;"
    "margin-top:1.8rem}tr,figure,.verdict,pre,dl,"
    "table:not(.columns):not(.members):not(.facts):not(.dense):not(.long)"
    "{break-inside:avoid}h2,h3,h4,h3+.note,h4+.note,caption,.lead"
    "{break-after:avoid}tbody tr:first-child{break-before:avoid}thead{display:"
    "table-header-group}tfoot{display:table-row-group}.wide{overflow:visible}table.matrix td{background:none}"
    "table.matrix td.hit{outline:1px solid #000;outline-offset:-2px}svg.bar .rest{stroke:#aaa;stroke-width:.5}"
    ".verdict{margin:.5rem 0 .6rem;padding:.5rem .9rem}dl{margin:.6rem 0 .7rem}"
    ".facts th,.facts td{padding-top:.15rem;padding-bottom:.15rem}"
    "p{break-inside:avoid}pre{background:none}.pair{grid-template-columns:1fr 1fr}"
    ".many{grid-template-columns:repeat(4,1fr)}.wide table{font-size:7.5pt}"
    ".wide td,.wide th{padding-right:.5rem}.wide .n{padding-right:.6rem}table.dense td.text{min-width:9rem}"
    "table.members td,table.members th{font-size:6.5pt;"
    "line-height:1.2;padding-top:0;padding-bottom:0}.chart rect.dark{fill:#222}.chart rect.light{fill:#fff;stroke:#000}"
    "#digests{font-size:7.5pt}}\n";

static const char *run_name(const rp_report_view *r)
{
    return r->recipe && r->recipe->name && *r->recipe->name ? r->recipe->name : NULL;
}

static const char *untitled(const rp_report_view *r)
{
    return rp_archive_manifest(r->archive)->kind != RP_RUN_API ? "Untitled run" : "Run of a program";
}

void rp_report_head(rp_report_view *r)
{
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                        "<meta http-equiv=\"Content-Security-Policy\" "
                        "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
    rp_html_text(out, run_name(r) ? run_name(r) : untitled(r));
    rp_buffer_text(out, " \xE2\x80\x93 training report</title>\n<style>\n");
    rp_buffer_text(out, colours);
    rp_buffer_text(out, text_style);
    rp_buffer_text(out, table_style);
    rp_buffer_text(out, chart_style);
    rp_buffer_text(out, print_style);
    rp_buffer_printf(out,
                     "@page{@bottom-left{content:'Archive %s';font:7pt 'DejaVu Sans Mono','Liberation Mono',monospace;"
                     "color:#333}}\n",
                     rp_archive_id(r->archive));
    rp_buffer_text(out, "</style>\n</head>\n<body>\n<main>\n<section aria-label=\"Title\">\n"
                        "<p class=\"kind\">Model training report</p>\n<h1>");
    rp_html_name(out, run_name(r) ? run_name(r) : untitled(r));
    rp_buffer_printf(out, "</h1>\n<p class=\"id\">Archive <span class=\"hash\">%s</span></p>\n",
                     rp_archive_id(r->archive));
}

void rp_report_foot(rp_report_view *r)
{
    rp_buffer_printf(
        r->out,
        "</section>\n</main>\n<footer>\n<p>Made by <code>reprise report</code>, version %s, from archive "
        "<span class=\"hash\">%s</span>. The same archive, keys and version give the same bytes of this page. It "
        "shows what the archive holds and how far that was checked; whether the model is good, fair or fit for a "
        "purpose is for people to judge.</p>\n</footer>\n</body>\n</html>\n",
        RP_VERSION, rp_archive_id(r->archive));
}
