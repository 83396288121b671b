/* SPDX-License-Identifier: Apache-2.0
 * DLPack, both ways. What comes in is copied to be a value; what goes out is the tensor's own memory, which nobody may
 * write. The structures are those of the DLPack 1.0 interface. */
#include "exchange.h"

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

static const struct {
    const char *name;
    uint8_t code, bits;
} kinds[] = {
    {"f32", DL_FLOAT, 32}, {"f64", DL_FLOAT, 64}, {"f16", DL_FLOAT, 16}, {"bf16", DL_BFLOAT, 16}, {"bool", DL_BOOL, 8},
    {"i8", DL_INT, 8},     {"i16", DL_INT, 16},   {"i32", DL_INT, 32},   {"i64", DL_INT, 64},     {"u8", DL_UINT, 8},
    {"u16", DL_UINT, 16},  {"u32", DL_UINT, 32},  {"u64", DL_UINT, 64},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- in ---- */

/* Which dtype of this build each kind is, by its name; RP_DTYPE_COUNT: none. Under the GIL. */
static const rp_dtype *kind_dtypes(void)
{
    static rp_dtype of[KINDS];
    static bool made;

    for (size_t i = 0; i < KINDS && !made; i++) {
        int k = 0;

        while (k < RP_DTYPE_COUNT && strcmp(rp_dtype_name((rp_dtype)k), kinds[i].name) != 0)
            k++;
        of[i] = (rp_dtype)k;
    }
    made = true;
    return of;
}

bool exchange_type(const dl_tensor *from, rp_type *type)
{
    const rp_dtype *of = kind_dtypes();
    size_t i = 0;

    while (i < KINDS && (kinds[i].code != from->dtype.code || kinds[i].bits != from->dtype.bits))
        i++;
    if (i == KINDS || of[i] == RP_DTYPE_COUNT || from->dtype.lanes != 1 || from->ndim < 0 || from->ndim > RP_MAX_RANK)
        return false;
    *type = (rp_type){.dtype = of[i], .rank = from->ndim};
    for (int k = 0; k < from->ndim; k++)
        type->shape[k] = (size_t)from->shape[k];
    return true;
}

static bool type_from(const dl_tensor *from, rp_type *type)
{
    if (exchange_type(from, type))
        return true;
    PyErr_Format(PyExc_TypeError, "DLPack: elements of kind %d, %d bits, or %d axes, are of no tensor here",
                 from->dtype.code, from->dtype.bits, from->ndim);
    return false;
}

/* Row-major bytes out of strided ones, without recursion: a counter over all axes. */
static void gather(char *to, const dl_tensor *from, const rp_type *type)
{
    const size_t size = rp_dtype_size(type->dtype), count = type_count(type);
    const char *base = (const char *)from->data + from->byte_offset;
    int64_t at[RP_MAX_RANK] = {0}, offset = 0;

    if (!from->strides) {
        copy_bytes(to, base, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * size, base + offset * (int64_t)size, size);
        for (int k = type->rank - 1; k >= 0; k--) {
            offset += from->strides[k];
            if (++at[k] < from->shape[k])
                break;
            offset -= at[k] * from->strides[k];
            at[k] = 0;
        }
    }
}

static PyObject *copy_in(const dl_tensor *from)
{
    rp_type type;
    char *bytes;

    if (from->device.type != DL_CPU) {
        PyErr_SetString(PyExc_BufferError, "DLPack: only tensors of the CPU: copy it there first");
        return NULL;
    }
    if (!type_from(from, &type))
        return NULL;
    bytes = malloc(type_bytes(&type) ? type_bytes(&type) : 1);
    if (!bytes)
        return PyErr_NoMemory();
    gather(bytes, from, &type);
    return tensor_of_value(&type, bytes);
}

PyObject *from_dlpack(PyObject *object)
{
    PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", NULL), *made = NULL;

    if (!capsule)
        return NULL;
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");

        made = copy_in(&m->tensor);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");

        if (m->version.major == 1)
            made = copy_in(&m->tensor);
        else
            PyErr_SetString(PyExc_BufferError, "DLPack: another version than 1");
    } else {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no DLPack capsule");
    }
    Py_DECREF(capsule); /* not taken: its own destructor frees it */
    return made;
}

/* ---- out ---- */

typedef struct exported {
    union {
        dl_managed plain;
        dl_versioned versioned;
    } as;
    int64_t shape[RP_MAX_RANK + 1], strides[RP_MAX_RANK + 1];
    PyObject *tensor;
    void *copy; /* of the elements, for one who could write to them; else NULL */
} exported;

/* The consumer calls it, maybe without the GIL. */
static void free_exported(exported *e)
{
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();

        Py_DECREF(e->tensor);
        PyGILState_Release(state);
    }
    free(e->copy);
    free(e);
}

static void delete_plain(dl_managed *self)
{
    free_exported(self->manager);
}

static void delete_versioned(dl_versioned *self)
{
    free_exported(self->manager);
}

static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        free_exported(((dl_managed *)PyCapsule_GetPointer(capsule, "dltensor"))->manager);
    else if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        free_exported(((dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned"))->manager);
}

static void describe(exported *e, dl_tensor *to, const tensor_object *t)
{
    int64_t stride = 1;

    for (int i = t->type.rank - 1; i >= 0; i--) {
        e->shape[i] = (int64_t)t->type.shape[i];
        e->strides[i] = stride;
        stride *= e->shape[i];
    }
    *to = (dl_tensor){
        .data = e->copy ? e->copy : t->bytes, .ndim = t->type.rank, .shape = e->shape, .strides = e->strides};
    to->device.type = DL_CPU;
    to->dtype.lanes = 1;
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, rp_dtype_name(t->type.dtype)) == 0) {
            to->dtype.code = kinds[i].code;
            to->dtype.bits = kinds[i].bits;
        }
}

/* Whether the consumer takes capsules that can say "read-only". */
static bool takes_versions(PyObject *version)
{
    long major;
    PyObject *first =
        version && PyTuple_Check(version) && PyTuple_Size(version) > 0 ? PyTuple_GetItem(version, 0) : NULL;

    major = first ? PyLong_AsLong(first) : 0;
    PyErr_Clear();
    return major >= 1;
}

/* Whether a device is asked for that is not the processor. */
static bool asks_for_another(PyObject *device)
{
    PyObject *kind = device && PyTuple_Check(device) && PyTuple_Size(device) > 0 ? PyTuple_GetItem(device, 0) : NULL;
    const long number = kind ? PyLong_AsLong(kind) : DL_CPU;

    PyErr_Clear();
    return number != DL_CPU;
}

/* PyTorch takes memory that is read-only as its own, and its operations in place write to it. */
static bool asked_by_torch(void)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    PyObject *globals = frame ? PyObject_GetAttrString(frame, "f_globals") : NULL;
    PyObject *name = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const bool torch = text && (strncmp(text, "torch.", 6) == 0 || strcmp(text, "torch") == 0);

    Py_XDECREF(globals);
    PyErr_Clear();
    return torch;
}

PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL, *capsule;
    exported *e;
    bool versioned, torch;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy) ||
        !tensor_bytes((tensor_object *)self))
        return NULL;
    if (asks_for_another(device)) {
        PyErr_SetString(PyExc_BufferError, "DLPack: a tensor's memory is the processor's, device (1, 0)");
        return NULL;
    }
    e = calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    versioned = takes_versions(version);
    torch = asked_by_torch();
    if ((torch || !versioned) && copy == Py_False) {
        free(e);
        PyErr_Format(PyExc_BufferError,
                     "DLPack: a tensor is never changed and %s may write to what it is given; "
                     "let it have a copy",
                     torch ? "torch" : "who takes no capsules of version 1");
        return NULL;
    }
    /* The old capsule cannot say "read-only", and whoever does not say what of copies may not look. */
    if (!versioned || copy == Py_True || !copy || torch) {
        const size_t size = type_bytes(&((tensor_object *)self)->type);

        e->copy = malloc(size ? size : 1);
        if (!e->copy) {
            free(e);
            return PyErr_NoMemory();
        }
        copy_bytes(e->copy, ((tensor_object *)self)->bytes, size);
    }
    e->tensor = Py_NewRef(self);
    if (versioned) {
        e->as.versioned.version.major = 1;
        e->as.versioned.manager = e;
        e->as.versioned.deleter = delete_versioned;
        e->as.versioned.flags = e->copy ? DL_IS_COPIED : DL_READ_ONLY;
        describe(e, &e->as.versioned.tensor, (tensor_object *)self);
    } else {
        e->as.plain.manager = e;
        e->as.plain.deleter = delete_plain;
        describe(e, &e->as.plain.tensor, (tensor_object *)self);
    }
    capsule = PyCapsule_New(&e->as, versioned ? "dltensor_versioned" : "dltensor", drop_capsule);
    if (!capsule)
        free_exported(e);
    return capsule;
}

PyObject *tensor_dlpack_device(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(self);
    RP_UNUSED(ignored);
    return Py_BuildValue("(ii)", DL_CPU, 0);
}
