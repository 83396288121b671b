/* SPDX-License-Identifier: Apache-2.0
 * reprise.Recorder: watches a run, and writes its archive. reprise.record is the usual way to one. */
#include "run_object.h"

typedef struct recorder_object {
    PyObject_HEAD PyObject *run;
    rp_recorder *recorder;
} recorder_object;

static home *home_of(PyObject *self)
{
    return ((run_object *)((recorder_object *)self)->run)->home;
}

typedef struct recording {
    unsigned long long state_period, checkpoint_period, checkpoint;
    const char *withhold, *parent, *resume;
} recording;

static rp_status set_up(rp_recorder *recorder, const recording *r, rp_error *err)
{
    rp_status status = rp_recorder_set_state_period(recorder, r->state_period, err);

    if (status == RP_OK && r->checkpoint_period)
        status = rp_recorder_set_checkpoint_period(recorder, r->checkpoint_period, err);
    if (status == RP_OK && r->withhold)
        status = rp_recorder_withhold(recorder, r->withhold, err);
    if (status == RP_OK && r->parent)
        status = rp_recorder_set_parent(recorder, r->parent, r->checkpoint, err);
    if (status == RP_OK && r->resume) {
        rp_archive *archive;

        status = rp_archive_open(&archive, r->resume, err);
        if (status == RP_OK) {
            status = rp_recorder_resume(recorder, archive, err);
            rp_archive_close(archive);
        }
    }
    return status;
}

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"run", "state_period", "checkpoint_period", "withhold", "parent", "checkpoint", "resume",
                            NULL};
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    recording r = {.state_period = 1};
    PyObject *run;
    recorder_object *self;
    home_visit visit;
    rp_error err;
    rp_status status;
    home *h;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|KKzzKz:Recorder", names, &run, &r.state_period,
                                     &r.checkpoint_period, &r.withhold, &r.parent, &r.checkpoint, &r.resume) ||
        !(h = run_home(run)))
        return NULL;
    self = (recorder_object *)alloc(type, 0);
    if (!self)
        return NULL;
    self->run = Py_NewRef(run);
    home_enter(h, &visit);
    status = rp_recorder_new(&self->recorder, h->run, &err);
    if (status == RP_OK)
        status = set_up(self->recorder, &r, &err);
    home_leave(h, &visit);
    if (status == RP_OK)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return raise_error(&err, status, "record", -1);
}

static void dealloc(PyObject *self)
{
    recorder_object *r = (recorder_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    home *h = home_of(self);
    home_visit visit;

    home_hold(h);
    home_enter(h, &visit);
    rp_recorder_free(r->recorder);
    home_leave(h, &visit);
    home_drop(h);
    Py_DECREF(r->run);
    release(self);
    Py_DECREF(type);
}

static PyObject *save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "key", "force", "passphrase", NULL};
    const char *key_path = NULL, *passphrase = NULL;
    PyObject *path;
    int force = 0;
    char id[RP_DIGEST_HEX];
    rp_key *key = NULL;
    home *h = home_of(self);
    home_visit visit;
    rp_error err;
    rp_status status = RP_OK;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|zpz:save", names, PyUnicode_FSConverter, &path, &key_path,
                                     &force, &passphrase))
        return NULL;
    home_enter(h, &visit);
    if (key_path)
        status = rp_key_load_private(&key, key_path, passphrase, &err);
    if (status == RP_OK)
        status = rp_recorder_save(((recorder_object *)self)->recorder, PyBytes_AsString(path), key, force, id, &err);
    rp_key_free(key);
    home_leave(h, &visit);
    Py_DECREF(path);
    return status == RP_OK ? PyUnicode_FromString(id) : raise_error(&err, status, "save", -1);
}

static PyMethodDef methods[] = {
    {"save", (PyCFunction)(void (*)(void))save, METH_VARARGS | METH_KEYWORDS,
     "save($self, path, key=None, force=False, passphrase=None)\n--\n\nWrites the archive of the steps so far "
     "and returns "
     "its id. key: the file of a private key that signs it."},
    {0},
};

bool recorder_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_new, recorder_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc,
         "Recorder(run, state_period=1, checkpoint_period=0, withhold=None, parent=None, checkpoint=0, "
         "resume=None)\n--\n\nWatches a run from its first step on; made when its states and data are there."},
        {0, NULL},
    };

    return add_type(module, &(PyType_Spec){.name = "reprise.Recorder",
                                           .basicsize = sizeof(recorder_object),
                                           .flags = Py_TPFLAGS_DEFAULT,
                                           .slots = slots}) != NULL;
}
