// D = A B + C, bit for bit as a unit returns it: windows, rounded additions and exact sums, with promotions and late addends.
//
// An enum of the unit's numbers and the structs Result, Register, Sums and Output stand before this text (settings.py). The
// same lines are compiled for a GPU and for the host, where the threads of a block take turns in a loop.
//
// A group's window is a float's own rounding. An accumulator of 2^PLACE units of the window, PLACE being the fraction
// bits of the float, stays in its binade, so that one fused multiply-add in a directed rounding multiplies, aligns, cuts
// and adds a product. Truncation is of magnitudes, hence
//   plus = sum of the positive products, all = sum of all magnitudes, sum = 2 plus - all;
// floor and ceil are one multiply-add of signed numbers. To odd is both, by a unit of twice the size:
//   x to odd = floor(x / 2) + ceil(x / 2), and ceil(x / 2) = -floor(-x / 2).
// The integer between two floats of one binade is the difference of their bits. A part of a group that is summed exactly is
// one term, an integer of signed bytes times its scales. What no float holds, and what is rare (special values, zeros with
// signs, exponents near the ends of the float), goes through `by_terms`: integers, product by product, with every rule of
// the specification. Rounded additions are binary32's or binary64's own where the unit's are, and else integers too.
//
// Four macros say which parts of this text are a unit's: OWN_SUMS for such additions, IN_PARTS for signed bytes by fours,
// IN_WINDOWS for windows in floats, FIXED for results in two's complement.
#if VARIANT == IN_DOUBLE
typedef double real;
typedef u64 bits;
#define POWER power_of_double
#define BITS_OF bits_of_double
#define REAL_OF double_of
#else
typedef float real;
typedef u32 bits;
#define POWER power
#define BITS_OF bits_of
#define REAL_OF single_of
#endif
#if OWN_SUMS
typedef real number; // of partial sums
#elif FIXED
typedef i64 number; // in units of the format
#else
typedef float number;
#endif

#ifdef __CUDACC__
#define FN static __device__ __forceinline__
#define INSIDE __device__ __forceinline__
#define CONSTANT static __device__ const
#define RARE static __device__ __noinline__
FN u32 bits_of(float x) { return __float_as_uint(x); }
FN float single_of(u32 x) { return __uint_as_float(x); }
FN u64 bits_of_double(double x) { return (u64)__double_as_longlong(x); }
FN double double_of(u64 x) { return __longlong_as_double((i64)x); }
FN int leading(u64 x) { return 63 - __clzll((i64)x); }
#if VARIANT == IN_DOUBLE
#define ROUNDED(way) __fma_##way(a, b, c)
#else
#define ROUNDED(way) __fmaf_##way(a, b, c)
#endif
FN float fma_nearest(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#ifndef __HIP__
FN int dot(u32 a, u32 b, int c) { return __dp4a((int)a, (int)b, c); }
#define HAS_DOT
#endif
FN float single_cut(real x) { return VARIANT == IN_DOUBLE ? __double2float_rz(x) : (float)x; }
FN real fma_cut(real a, real b, real c)
{
    if (OWN_SUMS) return ROUNDED(rn);
    return LOST == RD || LOST == RTO ? ROUNDED(rd) : LOST == RU ? ROUNDED(ru) : ROUNDED(rz);
}
#if __CUDA_ARCH__ >= 900
FN u32 add_max(u32 a, u32 b, u32 c) // of both halves
{
    asm("{.reg .b32 t; add.s16x2 t, %1, %2; max.s16x2 %0, t, %3;}" : "=r"(c) : "r"(a), "r"(b), "r"(c));
    return c;
}
#define HAS_ADD_MAX
#endif
#else // The host, which rounds as LOST says while `run` runs, and to nearest where there is no window.
#include <cfenv>
#include <cmath>
#include <cstring>
#include <vector>
using std::fabs;
#define FN static inline
#define INSIDE inline
#define CONSTANT static const
#define RARE static
FN u32 bits_of(float x) { u32 r; memcpy(&r, &x, 4); return r; }
FN float single_of(u32 x) { float r; memcpy(&r, &x, 4); return r; }
FN u64 bits_of_double(double x) { u64 r; memcpy(&r, &x, 8); return r; }
FN double double_of(u64 x) { double r; memcpy(&r, &x, 8); return r; }
FN int leading(u64 x) { return 63 - __builtin_clzll(x); }
FN real fma_cut(real a, real b, real c) { return std::fma(a, b, c); }
FN float single_cut(real x) // towards zero, whichever way the host rounds
{
    const real size = fabs(x);
    return std::copysign(LOST == RU ? -(float)-size : (float)size, (float)x);
}
FN float fma_nearest(float a, float b, float c)
{
    volatile float x = a, r; // compilers move arithmetic across a change of mode
    if (METHOD != WINDOW) {
        r = std::fma(x, b, c);
        return r;
    }
    const int before = fegetround();
    fesetround(FE_TONEAREST);
    r = std::fma(x, b, c);
    fesetround(before);
    return r;
}
#endif
FN int larger(int a, int b) { return a > b ? a : b; }
#ifndef HAS_ADD_MAX
FN u32 add_max(u32 a, u32 b, u32 c) // of both halves
{
    const short low = (short)((short)a + (short)b), high = (short)((short)(a >> 16) + (short)(b >> 16));
    return (u32)(u16)larger(low, (short)c) | (u32)(u16)larger(high, (short)(c >> 16)) << 16;
}
#endif
#ifndef HAS_DOT
FN int dot(u32 a, u32 b, int c) // of four signed bytes
{
    for (int at = 0; at < 32; at += 8) c += (signed char)(a >> at) * (signed char)(b >> at);
    return c;
}
#endif
FN float power(int exp) { return single_of(exp >= -126 ? (u32)(exp + 127) << 23 : 1u << (exp + 149)); } // from 2^-149
FN double power_of_double(int exp) { return double_of((u64)(exp + 1023) << 52); }

// ---------------------------------------------------------------- Numbers: terms, cuts and roundings, in integers

enum { NUMBER = 0, INFINITE = 1, NOT_A_NUMBER = 2 }; // kinds; -INFINITE is one too
FN bool finite(float x) { return (bits_of(x) & 0x7F800000) != 0x7F800000; }
FN int kind_of(float x) { return finite(x) ? NUMBER : x != x ? NOT_A_NUMBER : x > 0 ? INFINITE : -INFINITE; }
FN int merged(int x, int y) { return !x || !y ? x + y : x == y ? x : (int)NOT_A_NUMBER; }
FN bool is_negative(float x) { return bits_of(x) >> 31; }
FN float signed_zero(bool negative) { return single_of(negative ? 0x80000000u : 0); }

// A word of a factor or a scale: significand, exponent + OFFSET, sign, kind, from the low bit up.
enum { SIG_MASK = 0xFFFF, EXP_SHIFT = 16, EXP_MASK = 0x1FFF, OFFSET = 4096, NEGATIVE_SHIFT = 29, KIND_SHIFT = 30 };
FN u32 sig_of(u32 word) { return word & SIG_MASK; }
FN int exp_of(u32 word) { return (int)(word >> EXP_SHIFT & EXP_MASK) - OFFSET; }
FN bool word_negative(u32 word) { return word >> NEGATIVE_SHIFT & 1; }
FN int word_kind(u32 word) { return (int)(word >> KIND_SHIFT); }

// (-1)^negative * sig * 2^(exp - fraction bits). counts: it takes part in max_exp as what is not zero does.
struct Term { u64 sig; int exp; bool negative, counts; };
// The fraction bits of a float as a term.
enum { SINGLE = 23 };
FN Term term_of(float x, int emin)
{
    const u32 field = bits_of(x) >> 23 & 255;
    u32 sig = bits_of(x) & 0x7FFFFF;
    int exp = (int)field - 127;
    if (field) sig |= 1u << 23;
    else if (sig) { const int up = 23 - leading(sig); sig <<= up; exp = -126 - up; }
    const int from = sig && exp > emin ? exp : emin;
    return {from - exp > 31 ? 0 : (u64)(sig >> (from - exp)), from, is_negative(x), sig != 0};
}

// The magnitude that a shift to the right keeps. rest: of what is lost 0 nothing, 1 less than half, 2 half, 3 more.
struct Cut { u64 kept; int rest; };
FN Cut cut(u64 sig, int shift)
{
    if (shift <= 0) return {sig << -shift, 0};
    if (shift > 63) return {0, sig != 0};
    const u64 lost = sig & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    return {sig >> shift, !lost ? 0 : lost < half ? 1 : lost == half ? 2 : 3};
}
FN bool grows(int rounding, u64 kept, int rest, bool negative)
{
    switch (rounding) {
    case RNE: return rest == 3 || (rest == 2 && (kept & 1));
    case RNA: return rest >= 2;
    case RU: return rest && !negative;
    case RD: return rest && negative;
    case RTO: return rest && !(kept & 1);
    default: return false; // RZ
    }
}
// sig * 2^-shift with its sign, lost bits by a rule: a rounding, or ONES.
FN i64 aligned(int rule, u64 sig, int shift, bool negative)
{
    const Cut c = cut(sig, shift);
    const i64 size = (i64)(c.kept + (rule == ONES ? negative && sig : grows(rule, c.kept, c.rest, negative)));
    return negative ? -size : size;
}

FN u64 magnitude(i64 x) { return (u64)(x < 0 ? -x : x); }
FN i64 signed_cut(int rule, i64 x, int shift) { return aligned(rule, magnitude(x), shift, x < 0); }

FN float with_sign(u32 magnitude, bool negative) { return single_of(magnitude | (negative ? 0x80000000u : 0)); }
template <class T> FN float infinite(bool negative) { return with_sign((u32)T::INFINITY_IS, negative); }
template <class T> FN float zero(bool negative) { return signed_zero(negative && T::SIGNED_ZERO); }

// (-1)^negative * sig * 2^exp, rounded once to a format. sig: above 0. sticky: and a little more.
template <class T> FN float rounded(bool negative, u64 sig, int exp, bool sticky)
{
    const int high = leading(sig) + exp, binade = T::SUBNORMALS ? larger(high, T::EMIN) : high;
    Cut c = cut(sig, binade - T::FRACTION - exp);
    if (sticky) c.rest |= 1;
    c.kept += grows(T::ROUNDING, c.kept, c.rest, negative);
    u32 size = (u32)c.kept;
    int at = binade - T::FRACTION;
    // The count of the format's numbers up from zero, as if its exponents had no upper end.
    i64 steps = (i64)(binade - T::EMIN) * (1 << T::FRACTION) + (i64)c.kept - (T::SUBNORMALS ? 0 : 1 << T::FRACTION);
    if (steps > (i64)T::MOST) return with_sign((u32)(negative ? T::OVER_MINUS : T::OVER_PLUS), negative);
    if (!T::SUBNORMALS && steps <= 0) {
        steps = 0;
        if (T::NEARBY) { // twice the number against the least, whose significand is 2^FRACTION + 1
            const u64 least = (1ull << T::FRACTION) + 1, its = least << (62 - T::FRACTION), mine = sig << (62 - leading(sig));
            const int far = high + 1 - (int)T::EMIN;
            const int above = far ? far > 0 ? 1 : -1 : mine == its ? sticky : mine > its ? 1 : -1;
            steps = grows(T::ROUNDING, 0, 2 + above, negative);
            size = (u32)least;
            at = T::EMIN - T::FRACTION;
        }
    }
    if (T::SUBNORMALS && T::FLUSH == FLUSH_RESULT && steps < 1 << T::FRACTION) steps = 0;
    if (T::SUBNORMALS && T::FLUSH == FLUSH_BEFORE && high < T::EMIN) steps = 0;
    if (T::SUBNORMALS && T::FLUSH == FLUSH_AFTER && high < T::EMIN) {
        Cut d = cut(sig, high - T::FRACTION - exp);
        if (sticky) d.rest |= 1;
        d.kept += grows(T::ROUNDING, d.kept, d.rest, negative);
        if (high < T::EMIN - 1 || !(d.kept >> (T::FRACTION + 1))) steps = 0;
    }
    if (steps == 0) return zero<T>(negative && !T::TINY_POSITIVE);
    const float value = (float)size * power(at);
    return negative ? -value : value;
}

// (-1)^negative * sig * 2^exp.
struct Exact { u64 sig; int exp; bool negative; };
FN Exact exact(float x)
{
    const Term t = term_of(x, -149);
    return {t.sig, t.exp - SINGLE, t.negative};
}
FN Exact times(float x, float y)
{
    const Exact a = exact(x), b = exact(y);
    return {a.sig * b.sig, a.exp + b.exp, a.negative != b.negative};
}
// x + y, rounded once to a format. Zeros have the signs of IEEE 754. sig: below 2^49.
template <class T> FN float added(Exact x, Exact y)
{
    if (!x.sig && !y.sig) return zero<T>(x.negative == y.negative ? x.negative : (int)T::ROUNDING == RD);
    if (!x.sig) return rounded<T>(y.negative, y.sig, y.exp, false);
    if (!y.sig) return rounded<T>(x.negative, x.sig, x.exp, false);
    // The leading ones at bit 61. What is shifted out is jammed, far below what a rounding of 24 bits looks at: a sum
    // that cancels has lost nothing.
    int up = 61 - leading(x.sig);
    x.sig <<= up, x.exp -= up;
    up = 61 - leading(y.sig);
    y.sig <<= up, y.exp -= up;
    if (x.exp < y.exp || (x.exp == y.exp && x.sig < y.sig)) { const Exact z = x; x = y; y = z; }
    const Cut c = cut(y.sig, x.exp - y.exp);
    const u64 low = c.kept | (c.rest != 0), total = x.negative == y.negative ? x.sig + low : x.sig - low;
    return total ? rounded<T>(x.negative, total, x.exp, false) : zero<T>((int)T::ROUNDING == RD);
}
FN float not_a_number() { return single_of(0x7FC00000); }
template <class T> FN float of_kind(int kind) { return kind == NOT_A_NUMBER ? not_a_number() : infinite<T>(kind < 0); }
template <class T> FN float sum_of(float x, float y)
{
    const int kind = merged(kind_of(x), kind_of(y));
    return kind ? of_kind<T>(kind) : added<T>(exact(x), exact(y));
}
FN int kind_of_product(float x, float y) { return finite(x) && finite(y) ? (int)NUMBER : kind_of(x * y); }
template <class T> FN float product_of(float x, float y)
{
    const int kind = kind_of_product(x, y);
    if (kind) return of_kind<T>(kind);
    const Exact p = times(x, y);
    return p.sig ? rounded<T>(p.negative, p.sig, p.exp, false) : zero<T>(p.negative);
}
template <class T> FN float fma_of(float x, float y, float z)
{
    const int kind = merged(kind_of_product(x, y), kind_of(z));
    return kind ? of_kind<T>(kind) : added<T>(times(x, y), exact(z));
}

// ---------------------------------------------------------------- Operands

// Codes of a matrix or of its scales, by rows (columns of B) and along K. table: of words or floats, by code.
struct Codes { const void *codes; const u32 *table; int row, k; };
template <class C> FN C code_at(const Codes &x, int row, int k)
{
    return ((const C *)x.codes)[(i64)row * x.row + (i64)k * x.k];
}
struct Operands { Codes a, b, c, scale_a, scale_b; int m, n, k; };

// A float by its code: of the addend, or of a scale that a promotion multiplies. mask: of the bits that a code has.
template <class C> FN number number_at(const Codes &x, int row, int k, u32 mask)
{
    const C code = code_at<C>(x, row, k);
    if (FIXED) return (number)((i64)((u64)code << (64 - C_BITS)) >> (64 - C_BITS));
    if (sizeof(C) == 8) return (number)double_of(code);
    return single_of(sizeof(C) == 4 ? (u32)code : x.table[code & mask]);
}
// The word of a scale; beyond K, of one, as what fills K up has it.
FN u32 scale_a(const Operands &o, int i, int k)
{
    const u32 code = k < o.k ? code_at<scale_code_a>(o.scale_a, i / SCALE_ROWS_A, k / SCALE_BLOCK_A) : (u32)ONE_A;
    return o.scale_a.table[code >> SCALE_PADDING_A & SCALE_MASK_A];
}
FN u32 scale_b(const Operands &o, int j, int k)
{
    const u32 code = k < o.k ? code_at<scale_code_b>(o.scale_b, j / SCALE_ROWS_B, k / SCALE_BLOCK_B) : (u32)ONE_B;
    return o.scale_b.table[code >> SCALE_PADDING_B & SCALE_MASK_B];
}
// A factor's word; of units without a window, the bits of a float. Beyond K, zero.
template <class C, int PADDING, u32 MASK> FN u32 factor(const Codes &x, int k, int row, int at)
{
    const u32 code = at < k ? (u32)code_at<C>(x, row, at) : 0;
    if (METHOD == WINDOW || METHOD == EXACT || sizeof(C) < 4) return x.table[code >> PADDING & MASK];
    const bool is_zero = !(code << 1) || (DAZ && !(code & 0x7F800000));
    return !is_zero ? code : POSITIVE_ZEROS ? 0 : code & 0x80000000u;
}
FN u32 scaled(u32 word, u32 scale)
{
    if (word_kind(scale) == NOT_A_NUMBER) return (u32)NOT_A_NUMBER << KIND_SHIFT;
    return word + ((scale & (u32)EXP_MASK << EXP_SHIFT) - ((u32)OFFSET << EXP_SHIFT));
}
FN u32 factor_a(const Operands &o, int i, int k)
{
    if (i >= o.m) return o.a.table[0];
    const u32 word = factor<code_a, PADDING_A, MASK_A>(o.a, o.k, i, k);
    return SCALES == AT_PRODUCTS ? scaled(word, scale_a(o, i, k)) : word;
}
FN u32 factor_b(const Operands &o, int j, int k)
{
    if (j >= o.n) return o.b.table[0];
    const u32 word = factor<code_b, PADDING_B, MASK_B>(o.b, o.k, j, k);
    return SCALES == AT_PRODUCTS ? scaled(word, scale_b(o, j, k)) : word;
}
#if OWN_SUMS
FN real number_a(const Operands &o, int i, int k)
{
    if (sizeof(code_a) < 8) return single_of(factor_a(o, i, k));
    return i < o.m && k < o.k ? number_at<code_a>(o.a, i, k, 0) : 0;
}
FN real number_b(const Operands &o, int j, int k)
{
    if (sizeof(code_b) < 8) return single_of(factor_b(o, j, k));
    return j < o.n && k < o.k ? number_at<code_b>(o.b, j, k, 0) : 0;
}
#else
FN u32 number_a(const Operands &o, int i, int k) { return factor_a(o, i, k); }
FN u32 number_b(const Operands &o, int j, int k) { return factor_b(o, j, k); }
#endif
// The index along K of a lane of a group.
CONSTANT int ORDER_OF[] = ORDER;
FN int place(int g, int lane)
{
    const int at = g * LANES + lane;
    return ORDERED ? at / INSTRUCTION * INSTRUCTION + ORDER_OF[at % INSTRUCTION] : at;
}

// ---------------------------------------------------------------- A group in integers

// The sum of a group: total * 2^(top - bits), top NO_EXP where every term is zero; or a kind that is no number.
struct Sum { i64 total; int top, bits, kind; bool negative_zero, sticky; };

// A product of two words as a term, and its kind.
FN Term product(u32 x, u32 y, int *kind)
{
    const u64 sig = (u64)sig_of(x) * sig_of(y);
    const Term t = {sig, exp_of(x) + exp_of(y), word_negative(x) != word_negative(y), sig != 0};
    const int of_x = word_kind(x), of_y = word_kind(y);
    if (of_x || of_y) {
        const bool nan = of_x == NOT_A_NUMBER || of_y == NOT_A_NUMBER || (!of_x && !sig_of(x)) || (!of_y && !sig_of(y));
        *kind = merged(*kind, nan ? (int)NOT_A_NUMBER : t.negative ? -INFINITE : (int)INFINITE);
    } else if (LIMIT != NO_LIMIT && sig && leading(sig) + t.exp - PRODUCT_FRACTION >= LIMIT)
        *kind = merged(*kind, t.negative ? -INFINITE : (int)INFINITE);
    return t;
}
// A term of a kind, times a scale's word.
FN void scale_term(Term &t, int &kind, u32 scale)
{
    t.negative = t.negative != word_negative(scale);
    if (kind == NOT_A_NUMBER || word_kind(scale) == NOT_A_NUMBER) kind = NOT_A_NUMBER;
    else if (kind || word_kind(scale)) {
        const bool of_zero = (!kind && !t.sig) || (!word_kind(scale) && !sig_of(scale));
        kind = of_zero ? (int)NOT_A_NUMBER : t.negative ? -INFINITE : (int)INFINITE;
    }
    t.sig *= sig_of(scale);
    t.exp += exp_of(scale);
    t.counts = t.counts && (t.sig || (!word_kind(scale) && sig_of(scale)));
}
// The sum of a part of a group, in a window of its own or exact, times its scales: a term of PART_FRACTION bits.
template <class R> FN Term part(const R &read, int first, int *kinds, int size = SUBGROUP)
{
    int kind = NUMBER, top = NO_EXP, zeros = NO_EXP, negatives = 0;
    for (int lane = first; lane < first + size; ++lane) {
        const Term t = product(read.a(lane), read.b(lane), &kind);
        if (t.counts) top = larger(top, t.exp);
        zeros = larger(zeros, t.exp);
        negatives += t.negative;
    }
    i64 total = 0;
    const int at = OWN_BITS == NO_WINDOW ? (int)SUBGROUP_LEAST : top;
    for (int lane = first; lane < first + size && !kind; ++lane) {
        int none = NUMBER;
        const Term t = product(read.a(lane), read.b(lane), &none);
        const int shift = OWN_BITS == NO_WINDOW ? at - t.exp : at - t.exp + PRODUCT_FRACTION - OWN_BITS;
        if (t.sig) total += aligned(OWN_LOST, t.sig, shift, t.negative);
    }
    const bool some = top != NO_EXP;
    Term t = {magnitude(total), OWN_BITS == NO_WINDOW ? 0 : some ? top : zeros,
              total ? total < 0 : negatives == size, total || (COUNT_CANCELLED && some)};
    if (kind) t.negative = kind == -INFINITE;
    if (SUBGROUP_SCALED) {
        scale_term(t, kind, read.scale_a(first));
        scale_term(t, kind, read.scale_b(first));
    }
    *kinds = merged(*kinds, kind);
    return t;
}

// True if c is zero, or its exponent below the largest of products other than zero, scales counted.
template <class R> FN bool low_addend(const R &read, const Term &c)
{
    int top = NO_EXP;
    for (int lane = 0; lane < LANES; ++lane) {
        int none = NUMBER;
        const Term t = product(read.a(lane), read.b(lane), &none);
        const u32 x = read.scale_a(lane), y = read.scale_b(lane);
        if (t.sig && sig_of(x) && sig_of(y)) top = larger(top, t.exp + exp_of(x) + exp_of(y));
    }
    return top != NO_EXP && (!c.counts || c.exp < top);
}

enum { LEAST = LOW_LANES ? LOW_LANES : SUBGROUP, PARTS = SUBGROUP ? LANES / (LEAST + !LEAST) : 1, // the most parts
       TERMS = SUBGROUP ? (int)PARTS : (int)LANES, WINDOWS = EVEN_ODD ? 2 : 1 };

// A group's sum. c: what is aligned with the products if `with_c`, `emin` its format's least exponent; or a late addend.
template <class R> RARE Sum by_terms(const R &read, float c, int emin, bool with_c)
{
    Term parts[PARTS];
    const bool enters = with_c || CHAIN == LATE_WINDOW;
    Sum sum = {0, NO_EXP, EVEN_ODD ? COMBINE_BITS : FRACTION_BITS, enters ? kind_of(c) : (int)NUMBER, false, false};
    const Term of_c = term_of(finite(c) ? c : 0, emin);
    const bool low = LOW_LANES && low_addend(read, with_c ? of_c : term_of(0, emin)), skips = low && LOW_SKIPS;
    const int size = low ? (int)LOW_LANES : (int)SUBGROUP;
    const int terms = LOW_LANES ? LANES / (size + !size) : (int)TERMS;
    int tops[WINDOWS], zeros[WINDOWS], negatives = 0, count = terms;
    for (int w = 0; w < WINDOWS; ++w) tops[w] = NO_EXP, zeros[w] = ZERO_EXP;
    for (int i = 0; i < terms; ++i) {
        Term t;
        if (SUBGROUP) t = parts[i % PARTS] = part(read, i * size, &sum.kind, size);
        else t = product(read.a(i), read.b(i), &sum.kind);
        int &to = t.counts ? tops[i % WINDOWS] : zeros[i % WINDOWS];
        to = larger(to, t.exp);
        negatives += t.negative;
    }
    if (with_c && !skips) {
        int &to = of_c.counts ? tops[0] : zeros[0];
        to = larger(to, of_c.exp);
    }
    if (enters) negatives += of_c.negative, ++count;
    if (ZERO_EXP != NO_EXP) ++count;
    sum.negative_zero = IEEE_ZERO && (ROUNDS_DOWN ? negatives > 0 : negatives == count);
    if (sum.kind) return sum;
    i64 totals[WINDOWS];
    for (int w = 0; w < WINDOWS; ++w) {
        totals[w] = 0;
        if (tops[w] == NO_EXP) continue;
        if (COUNT_ZEROS) tops[w] = larger(tops[w], zeros[w]);
        tops[w] = larger(tops[w], FLOOR);
        sum.top = larger(sum.top, tops[w]);
        for (int i = w; i < terms; i += WINDOWS) {
            int none = NUMBER;
            const Term t = SUBGROUP ? parts[i % PARTS] : product(read.a(i), read.b(i), &none);
            const int shift = tops[w] - t.exp + (SUBGROUP ? PART_FRACTION : PRODUCT_FRACTION) - FRACTION_BITS;
            totals[w] += aligned(LOST, t.sig, shift, t.negative);
            if (STICKY) sum.sticky |= cut(t.sig, shift).rest != 0;
        }
    }
    if (with_c && sum.top != NO_EXP) {
        const int shift = sum.top - of_c.exp + SINGLE - FRACTION_BITS;
        totals[0] += aligned(LOST, of_c.sig, shift, of_c.negative);
        if (STICKY) sum.sticky |= cut(of_c.sig, shift).rest != 0;
    }
    for (int w = 0; w < WINDOWS; ++w)
        if (EVEN_ODD && totals[w])
            sum.total += signed_cut(COMBINE_LOST, totals[w], sum.top - tops[w] + FRACTION_BITS - COMBINE_BITS);
        else if (!EVEN_ODD) sum.total += totals[w];
    if (CUT_BITS && sum.total) sum.total = signed_cut(CUT_LOST, sum.total, CUT_BITS) * (1ll << CUT_BITS);
    return sum;
}

// A group's sum, before it is rounded, and a late addend in a window of their own.
FN Sum with_late(Sum sum, float c, int emin)
{
    sum.kind = merged(sum.kind, kind_of(c));
    if (sum.kind) return sum;
    const Term t = term_of(c, emin);
    int high = t.sig ? larger(sum.top, t.exp) : sum.top;
    if (high != NO_EXP && COUNT_ZEROS) {
        if (sum.top == NO_EXP) high = larger(high, 0); // where a sum of zeros stands
        if (!t.sig) high = larger(high, t.exp);
    }
    if (high != NO_EXP && LATE_ZERO && !t.sig) high = larger(high, t.exp);
    if (high == NO_EXP) return sum;
    const int width = larger(LATE_SUM_BITS, LATE_ADDEND_BITS);
    i64 kept = 0;
    if (sum.total)
        kept += signed_cut(LATE_LOST, sum.total, high - sum.top + sum.bits - LATE_SUM_BITS) * (1ll << (width - LATE_SUM_BITS));
    if (t.sig && !(t.exp < high - LATE_DROP)) {
        const int shift = high - t.exp + SINGLE - LATE_ADDEND_BITS;
        kept += aligned(LATE_LOST, t.sig, shift, t.negative) * (1ll << (width - LATE_ADDEND_BITS));
    }
    sum.bits = width;
    sum.top = high;
    if (LATE_TOTAL_BITS != UNCUT && kept) {
        const int lost = larger(leading(magnitude(kept)) + high - width, LATE_EMIN) - LATE_TOTAL_BITS - (high - width);
        if (lost > 0) {
            kept = signed_cut(LATE_LOST, kept, lost);
            sum.bits = width - lost;
        }
    }
    sum.total = kept;
    return sum;
}

FN float result_of(const Sum &sum)
{
    if (sum.kind) return of_kind<Result>(sum.kind);
    if (!sum.total) return zero<Result>(sum.negative_zero);
    return rounded<Result>(sum.total < 0, magnitude(sum.total), sum.top - sum.bits, sum.sticky);
}

// ---------------------------------------------------------------- A tile, and what its threads have

// Of the results of one thread.
#define EACH _Pragma("unroll") for (int i = 0; i < TM; ++i) _Pragma("unroll") for (int j = 0; j < TN; ++j)
enum { THREADS = (SIDE / TM) * (SIDE / TN), GROUPS = LANES < 32 ? 32 / LANES : 1, DEPTH = GROUPS * LANES,
       PAIRS = (LANES + 1) / 2, NONE = -16384, PLACE = sizeof(real) == 4 ? 23 : 52,
       // Signed sums stay in a binade from its middle.
       MIDDLE = LOST != RZ, TO_ODD = LOST == RTO,
       // The exponent of accumulators above max_exp, and max_exp's of those that are normal floats.
       ABOVE = PLACE - FRACTION_BITS + TO_ODD,
       LOWEST_TOP = (PLACE == 23 ? -126 : -1022) - ABOVE, HIGHEST_TOP = (PLACE == 23 ? 126 : 1022) - ABOVE };

#if OWN_SUMS
struct Tile { real numbers[DEPTH][SIDE]; }; // groups of one factor's rows, in shared memory
#elif VARIANT == IN_INTEGERS && !IN_PARTS
struct Tile { u32 words[DEPTH][SIDE]; };
#elif IN_PARTS
enum { QUADS = (SUBGROUP + 3) / 4 };
struct Tile { // of each part: factors in units of the least as signed bytes, a bit of each that is not zero, and its scale
    real scales[GROUPS * PARTS][SIDE];
    u32 quads[GROUPS * PARTS][QUADS][SIDE], some[GROUPS * PARTS][SIDE];
    int exps[GROUPS * PARTS][SIDE];
    u8 special[2][GROUPS][SIDE]; // of this tile and of the next
};
#else
enum { SPLIT = MIDDLE ? 1 : DEPTH }; // where a sum needs only the numbers themselves, `plus` has these
struct Tile { // what is no number is 0 here
    real plus[DEPTH][SIDE], minus[SPLIT][SIDE], size[SPLIT][SIDE];
    u32 exps[GROUPS * PAIRS][SIDE]; // of two lanes
    u8 special[2][GROUPS][SIDE];    // of this tile and of the next
};
#endif
#if IN_PARTS
FN int sum_of_part(const Tile &a, const Tile &b, int p, int y, int x)
{
    int sum = 0;
#pragma unroll
    for (int q = 0; q < QUADS; ++q) sum = dot(a.quads[p][q][y], b.quads[p][q][x], sum);
    return sum;
}
#endif
// An exact sum: a two's complement in units of 2^EXACT_UNIT, from the low word up; or a kind that is no number.
struct Exactly { u32 words[METHOD == EXACT ? EXACT_WORDS : 1]; int kind; bool negative_zero; };
enum { EXACT_ROWS = METHOD == EXACT ? TM : 1, EXACT_COLUMNS = METHOD == EXACT ? TN : 1 };
struct State { // other: a register, or a late addend
    number partial[TM][TN], other[TM][TN];
    Exactly exact[EXACT_ROWS][EXACT_COLUMNS];
};

// A group's factors from the codes; from a tile.
struct FromCodes {
    const Operands &o;
    int i, j, g;
    INSIDE u32 a(int lane) const { return factor_a(o, i, place(g, lane)); }
    INSIDE u32 b(int lane) const { return factor_b(o, j, place(g, lane)); }
    INSIDE u32 scale_a(int lane) const { return ::scale_a(o, i, place(g, lane)); }
    INSIDE u32 scale_b(int lane) const { return ::scale_b(o, j, place(g, lane)); }
    INSIDE Term part(int p, int *kinds) const { return ::part(*this, p * SUBGROUP, kinds); }
};
#if VARIANT == IN_INTEGERS
struct FromTile : FromCodes {
    const Tile &ta, &tb;
    int y, x, first;
    INSIDE FromTile(const FromCodes &from, const Tile &a, const Tile &b, int y, int x, int first)
        : FromCodes(from), ta(a), tb(b), y(y), x(x), first(first) {}
#if IN_PARTS
    INSIDE Term part(int p, int *) const
    {
        const int sum = sum_of_part(ta, tb, first / LANES * PARTS + p, y, x);
        return {magnitude(sum), 0, sum < 0, sum != 0};
    }
#else
    INSIDE u32 a(int lane) const { return ta.words[first + lane][y]; }
    INSIDE u32 b(int lane) const { return tb.words[first + lane][x]; }
    INSIDE Term part(int p, int *kinds) const { return ::part(*this, p * SUBGROUP, kinds); }
#endif
};
#endif

// A group of a tile's rows. odd: of tiles. g: the first group.
template <class F, class S>
FN void load(Tile &t, const F &word, const S &scale, int g, int groups, int tid, int odd, int fraction, int least)
{
#if IN_WINDOWS
    for (int i = tid; i < GROUPS * SIDE; i += THREADS) t.special[!odd][i / SIDE][i % SIDE] = 0;
#endif
#if IN_PARTS
    for (int i = tid; i < SIDE * GROUPS * PARTS; i += THREADS) {
        const int row = i % SIDE, p = i / SIDE, group = p / PARTS, first = p % PARTS * SUBGROUP;
        if (g + group >= groups) continue;
        const u32 s = scale(row, place(g + group, first));
        u32 some = 0, kinds = word_kind(s), quads[QUADS] = {};
        for (int lane = 0; lane < SUBGROUP; ++lane) {
            const u32 w = word(row, place(g + group, first + lane));
            const int size = word_kind(w) ? 0 : (int)(sig_of(w) << (exp_of(w) - least));
            kinds |= word_kind(w);
            some |= (u32)(size != 0) << lane;
            quads[lane / 4] |= (u32)(u8)(word_negative(w) ? -size : size) << lane % 4 * 8;
        }
        for (int q = 0; q < QUADS; ++q) t.quads[p][q][row] = quads[q];
        t.some[p][row] = sig_of(s) ? some : 0;
        t.exps[p][row] = exp_of(s);
        const real size = (real)sig_of(s) * POWER(kinds || !sig_of(s) ? 0 : exp_of(s) + least - fraction);
        t.scales[p][row] = word_negative(s) ? -size : size;
        if (kinds) t.special[odd][group][row] = 1;
    }
#else
#pragma unroll 3 // at four, binary32's windows lack registers for compute capability 10.0
    for (int i = tid; i < SIDE * DEPTH; i += THREADS) {
        const int row = i % SIDE, lane = i / SIDE, group = lane / LANES, in = lane % LANES;
        const decltype(word(0, 0)) w = g + group < groups ? word(row, place(g + group, in)) : 0;
#if OWN_SUMS
        t.numbers[lane][row] = w;
#elif VARIANT == IN_INTEGERS
        t.words[lane][row] = w;
#else
        const bool number = word_kind(w) == NUMBER;
        const u32 sig = number ? sig_of(w) : 0;
        const int exp = exp_of(w);
        const real size = (real)sig * POWER(number ? exp - fraction : 0), value = word_negative(w) ? -size : size;
        t.plus[lane][row] = MIDDLE ? value : word_negative(w) ? 0 : size;
        if (!MIDDLE) {
            t.minus[lane % SPLIT][row] = word_negative(w) ? size : 0;
            t.size[lane % SPLIT][row] = size;
        }
        short *pair = (short *)&t.exps[group * PAIRS + in / 2][row];
        pair[in % 2] = (short)(sig ? exp : (int)NONE);
        if (LANES % 2 && in == LANES - 1) pair[1] = NONE;
        if (!number) t.special[odd][group][row] = 1;
#endif
    }
#endif
}

// A group's result by a sum before it is rounded. c: what the group starts from, or a late addend.
FN float result_after(const Sum &sum, float c, int emin)
{
    return result_of(CHAIN == LATE_WINDOW ? with_late(sum, c, emin) : sum);
}
template <class R> RARE float result_by_terms(const R &read, float c, int emin, bool with_c)
{
    return result_after(by_terms(read, c, emin, with_c), c, emin);
}

// A term of rounded additions: a product, exactly, or a sum so far; or what is no number.
struct Node { Exact x; int kind; };
FN Node node_of(float x) { return {exact(finite(x) ? x : 0), kind_of(x)}; }
FN Node node_of(float x, float y)
{
    Node n = {{0, 0, false}, kind_of_product(x, y)};
    if (!n.kind) n.x = times(x, y);
    if (LIMIT != NO_LIMIT && n.x.sig && leading(n.x.sig) + n.x.exp >= LIMIT) n.kind = n.x.negative ? -INFINITE : (int)INFINITE;
    return n;
}
template <class T> FN float rounded_node(const Node &n)
{
    if (n.kind) return of_kind<T>(n.kind);
    return n.x.sig ? rounded<T>(n.x.negative, n.x.sig, n.x.exp, false) : zero<T>(n.x.negative);
}
FN float added_nodes(const Node &x, const Node &y)
{
    const int kind = merged(x.kind, y.kind);
    return kind ? of_kind<Sums>(kind) : added<Sums>(x.x, y.x);
}
#if OWN_SUMS // of binary32 or binary64; of binary32 subnormals may be zeros
FN real flushed(real x) { return (int)Sums::FLUSH == FLUSH_RESULT && fabs(x) < (real)0x1p-126 ? x * 0 : x; }
FN real own_product(real x, real y) { return flushed(fma_cut(x, y, -(real)0)); }
FN real sum_of_two(real x, real y) { return flushed(fma_cut(x, 1, y)); }
#endif
FN Node sum_of_two(const Node &x, const Node &y) { return node_of(added_nodes(x, y)); }
// The sum of all by pairs, of these by pairs, and so on. sum_of_two: of the terms' kind.
template <class N> FN N by_tree(N *level)
{
#pragma unroll(OWN_SUMS ? LANES : 1)
    for (int count = CHAINS ? CHAINS : LANES; count > 1; count = (count + 1) / 2) {
#pragma unroll(OWN_SUMS ? LANES : 1)
        for (int i = 0; i < count / 2; ++i) level[i] = sum_of_two(level[2 * i], level[2 * i + 1]);
        if (count % 2) level[count / 2] = level[count - 1];
    }
    return level[0];
}
// Sums are binary32's own.
enum { MODULO_CHAINS = CHAINS ? CHAINS : 1 };
enum { NATIVE_SUMS = (int)Sums::ROUNDING == RNE && (int)Sums::FRACTION == SINGLE && Sums::EMIN == -126 && Sums::SUBNORMALS
                     && Sums::MOST == 0x7F7FFFFF && (int)Sums::FLUSH == 0 && Sums::INFINITY_IS == 0x7F800000
                     && Sums::OVER_PLUS == 0x7F800000 && LIMIT == NO_LIMIT };
// A group's result by rounded additions, one after the other or by a tree. c: what it starts from, if `with_c`.
template <class R> RARE float by_additions(const R &read, float c, bool with_c)
{
    const float start = with_c ? rounded_node<Sums>(node_of(c)) : 0;
    if (METHOD == SEQUENTIAL) {
        float sum = start;
        for (int lane = 0; lane < LANES; ++lane) {
            const float x = single_of(read.a(lane)), y = single_of(read.b(lane));
            if (NATIVE_SUMS) sum = FUSED ? fma_nearest(x, y, sum) : fma_nearest(sum, 1, fma_nearest(x, y, -0.f));
            else {
                const Node p = node_of(x, y);
                sum = added_nodes(node_of(sum), FUSED ? p : node_of(rounded_node<Sums>(p)));
            }
        }
        return rounded_node<Result>(node_of(sum));
    }
    Node level[LANES];
    if (CHAINS)
        for (int chain = 0; chain < CHAINS; ++chain) level[chain] = node_of(0.f);
    for (int lane = 0; lane < LANES; ++lane) {
        const Node p = node_of(single_of(read.a(lane)), single_of(read.b(lane)));
        const Node leaf = FUSED ? p : node_of(rounded_node<Sums>(p));
        if (CHAINS) level[lane % MODULO_CHAINS] = sum_of_two(level[lane % MODULO_CHAINS], leaf);
        else level[lane] = leaf;
    }
    const Node root = by_tree(level);
    const float sum = with_c ? added_nodes(root, node_of(start)) : rounded_node<Sums>(root);
    return rounded_node<Result>(node_of(sum));
}

#if OWN_SUMS
// Groups of a tile by rounded additions that are those of the float itself.
FN void add_groups(State &s, const Tile &a, const Tile &b, int y, int x, int groups)
{
    if (METHOD == SEQUENTIAL)
#pragma unroll 4
        for (int k = 0; k < groups * LANES; ++k) EACH {
            const real p = a.numbers[k][y + i], q = b.numbers[k][x + j], sum = s.partial[i][j];
            s.partial[i][j] = FUSED ? flushed(fma_cut(p, q, sum)) : sum_of_two(own_product(p, q), sum);
        }
    else
        for (int k = 0; k < groups * LANES; k += LANES) EACH {
            real level[LANES];
#pragma unroll
            for (int lane = 0; lane < LANES; ++lane)
                level[lane] = own_product(a.numbers[k + lane][y + i], b.numbers[k + lane][x + j]);
            s.partial[i][j] = sum_of_two(by_tree(level), s.partial[i][j]);
        }
}
#endif

// Add (-1)^negative * sig * 2^exp to an exact sum.
FN void accumulate(u32 *words, u64 sig, int exp, bool negative)
{
    const int at = exp - EXACT_UNIT;
    const u64 placed = sig << at % 32, above = sig >> 1 >> (63 - at % 32);
    i64 carry = 0;
    for (int i = at / 32, part = 0; i < EXACT_WORDS && (part < 3 || carry); ++i, ++part) {
        const i64 mine = part == 0 ? (i64)(u32)placed : part == 1 ? (i64)(placed >> 32) : part == 2 ? (i64)above : 0;
        const i64 total = (i64)words[i] + (negative ? -mine : mine) + carry;
        words[i] = (u32)total;
        carry = total >> 32;
    }
}
FN bool is_zero(const u32 *words)
{
    u32 any = 0;
    for (int i = 0; i < EXACT_WORDS; ++i) any |= words[i];
    return !any;
}
#if FIXED
// The result of an exact sum in two's complement.
FN i64 fixed_words(const u32 *words)
{
    const bool negative = words[EXACT_WORDS - 1] >> 31;
    u64 kept = 0;
    u32 carry = 1;
    bool half = false, below = false, beyond = false;
    for (int i = 0; i < EXACT_WORDS; ++i) {
        const u64 sum = (u64)(negative ? ~words[i] : words[i]) + (negative ? carry : 0);
        carry = (u32)(sum >> 32);
        const int at = 32 * i + EXACT_UNIT + RESULT_FRACTION; // of its last place, in the result
        const Cut c = cut((u32)sum, at > 63 ? 0 : at > -33 ? -at : 33); // a word is below half of what is 33 places up
        if (at < 0) below = below || half || c.rest % 2, half = c.rest >= 2;
        if (at < 64) kept |= c.kept;
        beyond = beyond || (at > 32 && (u32)sum >> (at < 64 ? 64 - at : 0));
    }
    kept += grows(Result::ROUNDING, kept, 2 * half + below, negative);
    const u64 most = 1ull << (RESULT_BITS - 1);
    if (WRAPS) return (i64)((negative ? 0 - kept : kept) << (64 - RESULT_BITS)) >> (64 - RESULT_BITS);
    if (negative) return (i64)(0 - (beyond || kept > most ? most : kept));
    return (i64)(beyond || kept >= most ? most - 1 : kept);
}
#endif
// The result of an exact sum other than zero: its leading word and the next have more bits than any rounding looks at.
FN float rounded_words(const u32 *words)
{
    const bool negative = words[EXACT_WORDS - 1] >> 31;
    u32 high = 0, next = 0, carry = 1, before = 0;
    int top = 0;
    bool sticky = false, below = false; // below: of the words under `before`, whether one is not zero
    for (int i = 0; i < EXACT_WORDS; ++i) {
        const u64 sum = (u64)(negative ? ~words[i] : words[i]) + (negative ? carry : 0);
        const u32 word = (u32)sum;
        carry = (u32)(sum >> 32);
        if (word) high = word, next = before, top = i, sticky = below;
        below = below || before;
        before = word;
    }
    const u64 kept = (u64)high << 32 | next;
    return rounded<Result>(negative, kept >> 2, EXACT_UNIT + 32 * (top - 1) + 2, sticky || (kept & 3));
}
// A group's result by an exact sum, which goes on from the group before unless it is fresh: then from c, if `with_c`.
template <class R> RARE number by_exact(const R &read, Exactly &sum, number c, int emin, bool with_c, bool fresh, bool ends)
{
    int negatives = 0, count = TERMS + (!fresh || with_c);
    if (fresh) {
        Term t = term_of(with_c && finite((float)c) ? (float)c : 0, emin);
        if (FIXED) t = {with_c ? magnitude((i64)c) : 0, emin + SINGLE, c < 0, false};
        for (int i = 0; i < EXACT_WORDS; ++i) sum.words[i] = 0;
        sum.kind = with_c && !FIXED ? kind_of((float)c) : (int)NUMBER;
        if (t.sig) accumulate(sum.words, t.sig, t.exp - SINGLE, t.negative);
        negatives = with_c && t.negative;
    } else
        negatives = is_zero(sum.words) ? sum.negative_zero : sum.words[EXACT_WORDS - 1] >> 31;
    for (int i = 0; i < TERMS; ++i) {
        const Term t = SUBGROUP ? read.part(i, &sum.kind) : product(read.a(i), read.b(i), &sum.kind);
        if (t.sig && !sum.kind) accumulate(sum.words, t.sig, t.exp - (SUBGROUP ? PART_FRACTION : PRODUCT_FRACTION), t.negative);
        negatives += t.negative;
    }
    sum.negative_zero = IEEE_ZERO && (ROUNDS_DOWN ? negatives > 0 : negatives == count);
#if FIXED
    return EACH_ROUNDED || ends ? fixed_words(sum.words) : 0;
#endif
    if (sum.kind) return of_kind<Result>(sum.kind);
    return is_zero(sum.words) ? zero<Result>(sum.negative_zero) : rounded_words(sum.words);
}

// Results that are a float without its last bits, truncated or to odd, at binary32's exponents.
enum { QUICK = ((int)Result::ROUNDING == RZ || (int)Result::ROUNDING == RTO) && Result::EMIN == -126 && Result::SUBNORMALS
               && Result::MOST >> Result::FRACTION == 254 && (int)Result::FLUSH == 0 && CHAIN != LATE_WINDOW };
FN float quick(real x)
{
    u32 kept = bits_of(single_cut(x)) & ~0u << (SINGLE - Result::FRACTION);
    if ((int)Result::ROUNDING == RTO && single_of(kept) != x) kept |= 1u << (SINGLE - Result::FRACTION);
    return single_of((Result::TINY_POSITIVE || x == 0) && kept << 1 == 0 ? 0 : kept);
}

#if IN_WINDOWS
// A term enters a window.
FN void enter(real term, real &plus, real &all)
{
    plus = fma_cut(MIDDLE || term > 0 ? term : 0, 1, plus);
    if (TO_ODD || !MIDDLE) all = fma_cut(TO_ODD ? -term : fabs(term), 1, all);
}
// The results of a group of a thread's elements, whose factors are those of tiles from row y and column x on.
FN void sum_group(
    State &s, const Operands &o, const Tile &a, const Tile &b, int y, int x, int row0, int column0, int group, int g, int odd,
    int emin, bool with_c)
{
    u32 tops[TM][TN];
    real plus[TM][TN], all[TM][TN]; // to odd, `all` is of the products' opposites
    u32 rare = 0, none = 0; // a bit of each result: by_terms has it; all of its terms are zero
    EACH tops[i][j] = 0x80008000u;
#if IN_PARTS
    for (int p = group * PARTS; p < (group + 1) * PARTS; ++p)
        EACH {
            const bool some = a.some[p][y + i] & b.some[p][x + j];
            const int exp = a.exps[p][y + i] + b.exps[p][x + j];
            const bool counts = COUNT_CANCELLED ? some : some && sum_of_part(a, b, p, y + i, x + j);
            if (counts) tops[i][j] = 0x80000000u | (u16)larger((short)tops[i][j], exp);
        }
#else
#pragma unroll 4
    for (int k = group * PAIRS; k < (group + 1) * PAIRS; ++k)
        EACH tops[i][j] = add_max(a.exps[k][y + i], b.exps[k][x + j], tops[i][j]);
#endif
    EACH {
        const float c = with_c ? s.partial[i][j] : 0;
        const u32 size = bits_of(c) & 0x7FFFFFFF, field = size >> 23;
        int top = larger((short)tops[i][j], (short)(tops[i][j] >> 16));
        // A subnormal of binary32 stands at its leading one.
        const int own = field ? (int)field - 127 : size ? leading(size) - 149 : emin;
        if (with_c && size) top = larger(top, larger(own, emin));
        const bool zeros = top < NONE / 2;
        top = zeros ? 0 : larger(top, FLOOR);
        const bool odd_one = a.special[odd][group][y + i] || b.special[odd][group][x + j] || !finite(c)
                             || top < LOWEST_TOP || top > HIGHEST_TOP
                             || (LIMIT != NO_LIMIT && !zeros && top >= LIMIT - 1);
        rare |= (u32)odd_one << (i * TN + j);
        none |= (u32)zeros << (i * TN + j);
        const real base = (real)(MIDDLE ? 1.5 : 1.0) * POWER(odd_one ? 0 : top + ABOVE);
        const real value = odd_one ? 0 : (real)c;
        plus[i][j] = all[i][j] = base;
        enter(value, plus[i][j], all[i][j]);
    }
#if IN_PARTS
    for (int p = group * PARTS; p < (group + 1) * PARTS; ++p)
        EACH {
            const real sum = (real)sum_of_part(a, b, p, y + i, x + j);
            enter(sum * a.scales[p][y + i] * b.scales[p][x + j], plus[i][j], all[i][j]);
        }
#else
#pragma unroll 2
    for (int k = group * LANES; k < (group + 1) * LANES; ++k)
        EACH {
            plus[i][j] = fma_cut(a.plus[k][y + i], b.plus[k][x + j], plus[i][j]);
            if (TO_ODD) all[i][j] = fma_cut(-a.plus[k][y + i], b.plus[k][x + j], all[i][j]);
            if (!MIDDLE) {
                plus[i][j] = fma_cut(a.minus[k % SPLIT][y + i], b.minus[k % SPLIT][x + j], plus[i][j]);
                all[i][j] = fma_cut(a.size[k % SPLIT][y + i], b.size[k % SPLIT][x + j], all[i][j]);
            }
        }
#endif
    EACH {
        float &partial = s.partial[i][j];
        const int row = row0 + y + i, column = column0 + x + j;
        // What the accumulators began with, by their binade. All is exact: multiples of the unit, below 2^(PLACE + 1) of them.
        const bits from = (BITS_OF(plus[i][j]) >> PLACE << PLACE) | (MIDDLE ? (bits)1 << (PLACE - 1) : 0);
        const real base = REAL_OF(from), up = plus[i][j] - base;
        const real total = TO_ODD ? (plus[i][j] - all[i][j]) / 2 : MIDDLE ? up : 2 * up - (all[i][j] - base);
        const bool far = QUICK && PLACE == 52 && (total >= (real)0x1p127 || total <= -(real)0x1p127);
        if (rare >> (i * TN + j) & 1 || far || (IEEE_ZERO && total == 0)) {
            if (row < o.m && column < o.n)
                partial = result_by_terms(FromCodes{o, row, column, g}, partial, emin, with_c);
        } else if (QUICK)
            partial = quick(total);
        else {
            const i64 above = (i64)BITS_OF(plus[i][j]) - (i64)from, of_all = (i64)BITS_OF(all[i][j]) - (i64)from;
            const int top = (int)(from >> PLACE) - (PLACE == 52 ? 1023 : 127) - ABOVE;
            const i64 units = TO_ODD ? above - of_all : MIDDLE ? above : 2 * above - of_all;
            const bool zeros = none >> (i * TN + j) & 1;
            partial = result_after({units, zeros ? (int)NO_EXP : top, FRACTION_BITS, NUMBER, false, false}, partial, emin);
        }
    }
}
#endif

// The register's arithmetic is binary32's own.
enum { NATIVE = (int)Register::ROUNDING == RNE && Register::FRACTION == SINGLE && Register::EMIN == -126
              && Register::SUBNORMALS && Register::MOST == 0x7F7FFFFF && Register::FLUSH == 0 };

// The register `other` after a group's result has gone into it, at the end of an interval.
FN float committed(float partial, float other, const Operands &o, int row, int column, int g)
{
    if (FIRST != NOT_SCALED) {
        const int k = place(g - g % EVERY, 0);
        float x = single_of(ONE_A), y = single_of(ONE_B);
        if (row < o.m && column < o.n && k < o.k) {
            x = (float)number_at<scale_code_a>(o.scale_a, row / SCALE_ROWS_A, k / SCALE_BLOCK_A, SCALE_MASK_A);
            y = (float)number_at<scale_code_b>(o.scale_b, column / SCALE_ROWS_B, k / SCALE_BLOCK_B, SCALE_MASK_B);
        }
        const float to = FIRST == SCALES_FIRST ? x : partial, with = FIRST == A_FIRST ? x : y;
        const float rest = FIRST == SCALES_FIRST ? partial : FIRST == A_FIRST ? y : x;
        const float first = NATIVE ? fma_nearest(to, with, -0.f) : product_of<Register>(to, with);
        return NATIVE ? fma_nearest(first, rest, other) : fma_of<Register>(first, rest, other);
    }
    if (FLUSHES_ADDEND && finite(other) && term_of(other, -149).exp < (g < EVERY ? EMIN_C : REGISTER_EMIN))
        other = signed_zero(is_negative(other) && (g < EVERY ? SIGNED_C : (int)Register::SIGNED_ZERO));
    return NATIVE ? fma_nearest(other, 1, partial) : sum_of<Register>(other, partial);
}

// The code of a number of the format that the unit returns.
FN u32 encoded(float x)
{
    const u32 sign = is_negative(x) ? (u32)Output::SIGN : 0;
    if (x != x) return (u32)Output::NAN_CODE;
    if (!finite(x)) return sign | (u32)Output::INFINITY_CODE;
    const Term t = term_of(x, Output::SUBNORMALS ? (int)Output::EMIN : -149);
    if (!t.sig) return sign;
    const u32 kept = (u32)(t.sig >> (SINGLE - Output::FRACTION));
    const u32 steps = (u32)((t.exp - (int)Output::EMIN) * (1 << Output::FRACTION)) + kept
                      - (Output::SUBNORMALS ? 0 : 1u << Output::FRACTION);
    return sign | steps << Output::PADDING;
}

FN u64 encoded(i64 x) { return (u64)x << (64 - RESULT_BITS) >> (64 - RESULT_BITS); } // of a fixed format
FN u64 encoded(double x) { return x != x ? (u64)Output::NAN_CODE : bits_of_double(x); } // in binary64

// ---------------------------------------------------------------- One block of a matrix product

// Codes, tables, and where the next row (column of B) and the next along K stand.
#define PARAMETERS                                                                                                        \
    const void *a, const void *b, const void *c, const void *sa, const void *sb, const u32 *ta, const u32 *tb,            \
        const u32 *tc, const u32 *tsa, const u32 *tsb, code_out *out, int has_c, int m, int n, int k, int groups, int a_row, int a_k, \
        int b_row, int b_k, int c_row, int c_k, int sa_row, int sa_k, int sb_row, int sb_k
#ifdef __CUDACC__
#define EACH_THREAD { State &s = state; (void)s;
#define END_THREADS } __syncthreads();
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) multiply(PARAMETERS)
{
    extern __shared__ __align__(16) unsigned char room[];
    Tile &tile_a = ((Tile *)room)[0], &tile_b = ((Tile *)room)[1];
    State state;
    const int tid = threadIdx.x, row0 = blockIdx.y * SIDE, column0 = blockIdx.x * SIDE;
#else
#define EACH_THREAD for (int tid = 0; tid < THREADS; ++tid) { State &s = states[tid];
#define END_THREADS }
static void block(PARAMETERS, int row0, int column0, Tile &tile_a, Tile &tile_b, State *states)
{
#endif
    const Operands o = {{a, ta, a_row, a_k}, {b, tb, b_row, b_k}, {c, tc, c_row, c_k}, {sa, tsa, sa_row, sa_k},
                        {sb, tsb, sb_row, sb_k}, m, n, k};
    const auto word_a = [&](int row, int at) { return number_a(o, row0 + row, at); };
    const auto word_b = [&](int row, int at) { return number_b(o, column0 + row, at); };
    // Of the parts of a group; where these have no scales, of one.
    const u32 one = 1 | (u32)OFFSET << EXP_SHIFT;
    const auto scale_of_a = [&](int row, int at) {
        return SUBGROUP_SCALED && row0 + row < m ? scale_a(o, row0 + row, at) : one;
    };
    const auto scale_of_b = [&](int row, int at) {
        return SUBGROUP_SCALED && column0 + row < n ? scale_b(o, column0 + row, at) : one;
    };
#define OF_THREAD const int y = tid / (SIDE / TN) * TM, x = tid % (SIDE / TN) * TN; (void)y; (void)x;
#define INSIDE_MATRIX (row0 + y + i < m && column0 + x + j < n)
    EACH_THREAD
        OF_THREAD
        EACH {
            number given = has_c && INSIDE_MATRIX ? number_at<code_c>(o.c, row0 + y + i, column0 + x + j, MASK_C) : 0;
            const bool tiny = FLUSHES_INPUT && finite((float)given) && term_of((float)given, -149).exp < EMIN_C;
            if (POSITIVE_ZEROS && (given == 0 || tiny)) given = 0;
#if OWN_SUMS
            given = flushed(given);
#endif
            s.other[i][j] = CHAIN == PROMOTED ? (number)sum_of<Register>((float)given, given == 0 ? (float)given : 0) : given;
            s.partial[i][j] = CHAIN == PROMOTED || CHAIN == ADDED_LATE ? 0 : given;
        }
#if IN_WINDOWS
        for (int i = tid; i < GROUPS * SIDE; i += THREADS)
            tile_a.special[0][i / SIDE][i % SIDE] = tile_b.special[0][i / SIDE][i % SIDE] = 0;
#endif
    END_THREADS
    for (int g0 = 0; g0 < groups; g0 += GROUPS) {
        const int odd = g0 / GROUPS % 2;
        (void)odd;
        EACH_THREAD
            load(tile_a, word_a, scale_of_a, g0, groups, tid, odd, UNIT_A, LEAST_A);
            load(tile_b, word_b, scale_of_b, g0, groups, tid, odd, UNIT_B, LEAST_B);
        END_THREADS
        EACH_THREAD
            OF_THREAD
#if OWN_SUMS
            add_groups(s, tile_a, tile_b, y, x, groups - g0 < GROUPS ? groups - g0 : (int)GROUPS);
#else
            for (int group = 0; group < GROUPS && g0 + group < groups; ++group) {
                const int g = g0 + group;
                const bool begins = RESTART && g % (RESTART + !RESTART) == 0;
                if (begins) EACH s.partial[i][j] = 0;
                const bool with_c = ADDEND == ALIGNED || (ADDEND == LATER && (g > 0 || RESTART));
                const int emin = g == 0 && !begins ? EMIN_C : EMIN;
#if VARIANT == IN_INTEGERS
                EACH {
                    const int row = row0 + y + i, column = column0 + x + j;
                    if (!INSIDE_MATRIX) continue;
                    const FromTile read({o, row, column, g}, tile_a, tile_b, y + i, x + j, group * LANES);
                    const number c = s.partial[i][j];
                    Exactly &exact = s.exact[i % EXACT_ROWS][j % EXACT_COLUMNS];
                    const bool fresh = g == 0 || begins || EACH_ROUNDED;
                    if (METHOD == EXACT) s.partial[i][j] = by_exact(read, exact, c, emin, with_c, fresh, g == groups - 1);
                    else if (METHOD == WINDOW) s.partial[i][j] = result_by_terms(read, (float)c, emin, with_c);
                    else s.partial[i][j] = by_additions(read, (float)c, with_c);
                }
#else
                sum_group(s, o, tile_a, tile_b, y, x, row0, column0, group, g, odd, emin, with_c);
#endif
                if ((CHAIN == PROMOTED || CHAIN == ADDED_LATE) && (g % EVERY == EVERY - 1 || g == groups - 1))
                    EACH {
                        const float partial = (float)s.partial[i][j], other = (float)s.other[i][j];
                        s.other[i][j] = (number)committed(partial, other, o, row0 + y + i, column0 + x + j, g);
                    }
            }
#endif
        END_THREADS
    }
    EACH_THREAD
        OF_THREAD
        EACH {
            const number result = CHAIN == PROMOTED || CHAIN == ADDED_LATE ? s.other[i][j] : s.partial[i][j];
            if (INSIDE_MATRIX) out[(i64)(row0 + y + i) * n + column0 + x + j] = (code_out)encoded(result);
        }
    END_THREADS
}

#ifndef __CUDACC__
extern "C" int tile_bytes() { return (int)sizeof(Tile); }

// Rows of blocks from first to last; several threads may each do some. codes, tables, by: of a, b, c and both scales.
extern "C" void run(
    const void *const *codes, const u32 *const *tables, code_out *out, const int *sizes, const int *by, int first, int last)
{
    const int before = fegetround(), n = sizes[1];
    fesetround(METHOD != WINDOW ? FE_TONEAREST : LOST == RD || LOST == RTO ? FE_DOWNWARD : LOST == RU ? FE_UPWARD : FE_TOWARDZERO);
    std::vector<Tile> room(2);
    std::vector<State> states(THREADS);
    for (int row = first * SIDE; row < last * SIDE && row < sizes[0]; row += SIDE)
        for (int column = 0; column < n; column += SIDE)
            block(codes[0], codes[1], codes[2], codes[3], codes[4], tables[0], tables[1], tables[2], tables[3], tables[4], out,
                  codes[2] != nullptr, sizes[0], n, sizes[2], sizes[3], by[0], by[1], by[2], by[3], by[4], by[5], by[6], by[7], by[8], by[9],
                  row, column, room[0], room[1], states.data());
    fesetround(before);
}
#endif
