/* SPDX-License-Identifier: Apache-2.0
 * Python's operators on tensors. Numbers beside a tensor are of its dtype; nothing else is converted. */
#include <math.h>

#include "binding.h"

enum { REALS = 1u << RP_F32 | 1u << RP_F64 };

static bool is_real(const rp_type *type)
{
    return REALS & 1u << type->dtype;
}

static PyObject *call_one(PyObject *x, const char *name, call1 *call)
{
    operands o;
    rp_tensor out;
    rp_type type;

    if (!operands_begin(&o, operands_home(&x, 1), name))
        return NULL;
    if (!operands_add(&o, x, NULL)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = call(o.in[0]);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

/* NotImplemented where an operand is of no kind that becomes a tensor. */
static bool may_be_operand(PyObject *x)
{
    return is_tensor(x) || is_number(x) || PyObject_CheckBuffer(x) || PyList_Check(x) || PyTuple_Check(x) ||
           PyObject_HasAttrString(x, "__array__") || PyObject_HasAttrString(x, "__dlpack__");
}

static PyObject *call_two(PyObject *a, PyObject *b, const char *name, call2 *call)
{
    PyObject *const both[2] = {a, b};
    operands o;
    rp_tensor out;
    rp_type type;

    if (!(is_tensor(a) && is_tensor(b)) && !(may_be_operand(a) && may_be_operand(b)))
        return Py_NewRef(Py_NotImplemented);
    if (!operands_begin(&o, operands_home(both, 2), name))
        return NULL;
    if (!operands_add_all(&o, both, 2)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = call(o.in[0], o.in[1]);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

/* x + c and x c as rp_add_scalar and rp_scale write them, so that a program is the same from C. */
static PyObject *call_number(PyObject *x, PyObject *number, const char *name, rp_tensor (*call)(rp_tensor, double),
                             double sign)
{
    operands o;
    rp_tensor out;
    rp_type type;
    double real;

    if (!number_read(number, ((tensor_object *)x)->type.dtype, &real) ||
        !operands_begin(&o, operands_home(&x, 1), name))
        return NULL;
    if (!operands_add(&o, x, NULL)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = call(o.in[0], sign * real);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

static PyObject *add(PyObject *a, PyObject *b)
{
    return is_tensor(a) && is_number(b)   ? call_number(a, b, "add", rp_add_scalar, 1)
           : is_number(a) && is_tensor(b) ? call_number(b, a, "add", rp_add_scalar, 1)
                                          : call_two(a, b, "add", rp_add);
}

static PyObject *subtract(PyObject *a, PyObject *b)
{
    return call_two(a, b, "sub", rp_sub);
}

static PyObject *multiply(PyObject *a, PyObject *b)
{
    return is_tensor(a) && is_number(b)   ? call_number(a, b, "mul", rp_scale, 1)
           : is_number(a) && is_tensor(b) ? call_number(b, a, "mul", rp_scale, 1)
                                          : call_two(a, b, "mul", rp_mul);
}

static PyObject *divide(PyObject *a, PyObject *b)
{
    return call_two(a, b, "div", rp_div);
}

static PyObject *floor_divide(PyObject *a, PyObject *b)
{
    return call_two(a, b, "floor_divide", rp_floor_divide);
}

static PyObject *leave(PyObject *a, PyObject *b)
{
    return call_two(a, b, "remainder", rp_remainder);
}

/* As in NumPy: a vector on the left is a row, one on the right a column, and that axis goes. */
static rp_tensor product(rp_tensor a, rp_tensor b)
{
    rp_type left, right, out;
    rp_tensor y;
    size_t kept[RP_MAX_RANK];
    int rank = 0;

    if (!type_of(a, &left) || !type_of(b, &right) || (left.rank != 1 && right.rank != 1))
        return rp_matmul(a, b);
    if (left.rank == 1)
        a = rp_reshape(a, 2, (size_t[]){1, left.shape[0]});
    if (right.rank == 1)
        b = rp_reshape(b, 2, (size_t[]){right.shape[0], 1});
    y = rp_matmul(a, b);
    if (!type_of(y, &out))
        return y;
    for (int i = 0; i < out.rank; i++)
        if (!(left.rank == 1 && i == out.rank - 2) && !(right.rank == 1 && i == out.rank - 1))
            kept[rank++] = out.shape[i];
    return rp_reshape(y, rank, kept);
}

static PyObject *multiply_matrices(PyObject *a, PyObject *b)
{
    return call_two(a, b, "matmul", product);
}

static rp_tensor power_of(rp_tensor x, double exponent)
{
    return rp_pow_int(x, (int64_t)exponent);
}

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        return Py_NewRef(Py_NotImplemented);
    if (is_tensor(a) && PyLong_Check(b) && is_real(&((tensor_object *)a)->type))
        return call_number(a, b, "pow_int", power_of, 1);
    return call_two(a, b, "pow", rp_pow);
}

static PyObject *negative(PyObject *x)
{
    return call_one(x, "neg", rp_neg);
}

static PyObject *positive(PyObject *x)
{
    return Py_NewRef(x);
}

static PyObject *absolute(PyObject *x)
{
    return call_one(x, "abs", rp_abs);
}

static bool are_bool(PyObject *a, PyObject *b)
{
    const tensor_object *t = (tensor_object *)(is_tensor(a) ? a : b);

    return t->type.dtype == RP_BOOL;
}

static PyObject *both(PyObject *a, PyObject *b)
{
    return are_bool(a, b) ? call_two(a, b, "logical_and", rp_logical_and)
                          : call_two(a, b, "bitwise_and", rp_bitwise_and);
}

static PyObject *either(PyObject *a, PyObject *b)
{
    return are_bool(a, b) ? call_two(a, b, "logical_or", rp_logical_or) : call_two(a, b, "bitwise_or", rp_bitwise_or);
}

static PyObject *one_of_two(PyObject *a, PyObject *b)
{
    return are_bool(a, b) ? call_two(a, b, "logical_xor", rp_logical_xor)
                          : call_two(a, b, "bitwise_xor", rp_bitwise_xor);
}

static PyObject *invert(PyObject *x)
{
    return ((tensor_object *)x)->type.dtype == RP_BOOL ? call_one(x, "logical_not", rp_logical_not)
                                                       : call_one(x, "bitwise_not", rp_bitwise_not);
}

static PyObject *left(PyObject *a, PyObject *b)
{
    return call_two(a, b, "shift_left", rp_shift_left);
}

static PyObject *right(PyObject *a, PyObject *b)
{
    return call_two(a, b, "shift_right", rp_shift_right);
}

static PyObject *compare(PyObject *a, PyObject *b, int how)
{
    switch (how) {
    case Py_LT:
        return call_two(a, b, "lt", rp_lt);
    case Py_LE:
        return call_two(a, b, "le", rp_le);
    case Py_GT:
        return call_two(a, b, "gt", rp_gt);
    case Py_GE:
        return call_two(a, b, "ge", rp_ge);
    case Py_EQ:
        return call_two(a, b, "eq", rp_eq);
    default:
        return call_two(a, b, "ne", rp_ne);
    }
}

/* Comparisons compare elements, so tensors are told apart, in sets and dicts, by what they are. */
static Py_hash_t hash(PyObject *x)
{
    return (Py_hash_t)((uintptr_t)x >> 4);
}

/* ---- one element ---- */

/* A tensor of one element as a number of Python. */
/* An f16: sign, 5 bits of exponent, 10 of the fraction. */
static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double x;

    if (exponent == 31)
        x = fraction ? Py_NAN : Py_HUGE_VAL;
    else
        x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -x : x;
}

static PyObject *item(PyObject *self)
{
    tensor_object *t = (tensor_object *)self;
    const void *bytes;
    uint32_t wide;
    float f;

    if (type_count(&t->type) != 1) {
        char text[192];

        type_text(&t->type, text, sizeof text);
        PyErr_Format(PyExc_ValueError, "%s has %zu elements, and is no single number: use any(), all() or an index",
                     text, type_count(&t->type));
        return NULL;
    }
    bytes = tensor_bytes(t);
    if (!bytes)
        return NULL;
    switch (t->type.dtype) {
    case RP_F32:
        return PyFloat_FromDouble((double)*(const float *)bytes);
    case RP_F64:
        return PyFloat_FromDouble(*(const double *)bytes);
    case RP_I32:
        return PyLong_FromLong(*(const int32_t *)bytes);
    case RP_I64:
        return PyLong_FromLongLong(*(const int64_t *)bytes);
    case RP_BOOL:
        return PyBool_FromLong(*(const unsigned char *)bytes);
    case RP_BF16:
        wide = (uint32_t) * (const uint16_t *)bytes << 16;
        memcpy(&f, &wide, sizeof f);
        return PyFloat_FromDouble((double)f);
    case RP_F16:
        return PyFloat_FromDouble(half(*(const uint16_t *)bytes));
    case RP_I8:
        return PyLong_FromLong(*(const int8_t *)bytes);
    case RP_U8:
        return PyLong_FromLong(*(const uint8_t *)bytes);
    case RP_I16:
        return PyLong_FromLong(*(const int16_t *)bytes);
    case RP_U32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)bytes);
    default:
        PyErr_Format(PyExc_TypeError, "%s: cast it first", rp_dtype_name(t->type.dtype));
        return NULL;
    }
}

static PyObject *as_float(PyObject *self)
{
    PyObject *number = item(self), *real = number ? PyNumber_Float(number) : NULL;

    Py_XDECREF(number);
    return real;
}

static PyObject *as_int(PyObject *self)
{
    PyObject *number = item(self), *whole = number ? PyNumber_Long(number) : NULL;

    Py_XDECREF(number);
    return whole;
}

static PyObject *as_index(PyObject *self)
{
    if ((REALS | 1u << RP_BF16 | 1u << RP_F16) & 1u << ((tensor_object *)self)->type.dtype) {
        PyErr_SetString(PyExc_TypeError, "a tensor of reals is no index");
        return NULL;
    }
    return as_int(self);
}

static int as_bool(PyObject *self)
{
    PyObject *number = item(self);
    const int truth = number ? PyObject_IsTrue(number) : -1;

    Py_XDECREF(number);
    return truth;
}

PyObject *tensor_item(PyObject *self, PyObject *ignored);
PyObject *tensor_item(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    return item(self);
}

PyType_Slot arithmetic_slots[] = {
    {Py_nb_add, add},
    {Py_nb_subtract, subtract},
    {Py_nb_multiply, multiply},
    {Py_nb_true_divide, divide},
    {Py_nb_floor_divide, floor_divide},
    {Py_nb_remainder, leave},
    {Py_nb_matrix_multiply, multiply_matrices},
    {Py_nb_power, power},
    {Py_nb_negative, negative},
    {Py_nb_positive, positive},
    {Py_nb_absolute, absolute},
    {Py_nb_and, both},
    {Py_nb_or, either},
    {Py_nb_xor, one_of_two},
    {Py_nb_invert, invert},
    {Py_nb_lshift, left},
    {Py_nb_rshift, right},
    {Py_nb_float, as_float},
    {Py_nb_int, as_int},
    {Py_nb_index, as_index},
    {Py_nb_bool, as_bool},
    {Py_tp_richcompare, compare},
    {Py_tp_hash, hash},
    {Py_mp_subscript, tensor_subscript},
    {Py_mp_length, tensor_length},
    {0, NULL},
};
