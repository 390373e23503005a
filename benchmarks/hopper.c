/* hopper-wgmma-e4m3-f32 in plain C, for benchmarks/gemm.py to be measured against: 16-bit lanes over 128 columns, a pass
   for max_exp and a pass that aligns, truncates and adds. The compiler makes vectors of it. Finite codes only; c is +0.
   Build: cc -O3 -march=native -shared -fPIC. */
#include <stdint.h>
#include <string.h>

enum { LANES = 32, WIDE = 128, FRACTION_BITS = 13, PRODUCT_FRACTION = 6, ZERO_EXP = -64, NO_EXP = -4096, LEAST_EXP = -12 };

static void decode(const uint8_t *codes, int16_t *sig, int16_t *exp, int16_t *sign, long count) {
    for (long i = 0; i < count; i++) {
        int field = (codes[i] >> 3) & 15, value = (codes[i] & 7) | (field ? 8 : 0);
        sig[i] = (int16_t)value;
        exp[i] = (int16_t)(value ? (field ? field - 1 : 0) : ZERO_EXP);
        sign[i] = (int16_t)(codes[i] & 128 ? -1 : 0);
    }
}

static float power(int exp) {
    uint32_t bits = (uint32_t)(exp + 127) << 23;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* d (m, n) = a (m, k) x b (k, n). k: a multiple of 32, n: of 128. room: 3 * (m * k + k * n) int16. */
void hopper(const uint8_t *a, const uint8_t *b, float *d, long m, long k, long n, int16_t *room) {
    int16_t *sig_a = room, *exp_a = sig_a + m * k, *sign_a = exp_a + m * k;
    int16_t *sig_b = sign_a + m * k, *exp_b = sig_b + k * n, *sign_b = exp_b + k * n;
    decode(a, sig_a, exp_a, sign_a, m * k);
    decode(b, sig_b, exp_b, sign_b, k * n);
    memset(d, 0, sizeof(float) * m * n);
    for (long first = 0; first < n; first += WIDE)
        for (long i = 0; i < m; i++)
            for (long g = 0; g < k; g += LANES) {
                int16_t top[WIDE];
                int32_t sum[WIDE];
                float *c = d + i * n + first;
                for (int j = 0; j < WIDE; j++) {
                    uint32_t bits;
                    memcpy(&bits, c + j, 4);
                    int field = (bits >> 23) & 255;
                    top[j] = (int16_t)(bits << 1 ? (field ? field : 1) - 127 - LEAST_EXP : NO_EXP);
                    sum[j] = 0;
                }
                for (long l = g; l < g + LANES; l++)
                    for (int j = 0; j < WIDE; j++) {
                        int16_t exp = (int16_t)(exp_a[i * k + l] + exp_b[l * n + first + j]);
                        top[j] = exp > top[j] && exp >= 0 ? exp : top[j];
                    }
                for (long l = g; l < g + LANES; l++) {
                    int16_t sig = (int16_t)(sig_a[i * k + l] << (FRACTION_BITS - PRODUCT_FRACTION));
                    int16_t exp = exp_a[i * k + l], sign = sign_a[i * k + l];
                    for (int j = 0; j < WIDE; j++) {
                        uint16_t far = (uint16_t)(top[j] - (int16_t)(exp + exp_b[l * n + first + j]));
                        uint16_t size = (uint16_t)(sig * sig_b[l * n + first + j]);
                        int16_t term = (int16_t)(size >> (far < 15 ? far : 15));
                        int16_t minus = (int16_t)(sign ^ sign_b[l * n + first + j]);
                        sum[j] += (int16_t)((term ^ minus) - minus);
                    }
                }
                for (int j = 0; j < WIDE; j++) {
                    int exp = (top[j] == NO_EXP ? 0 : top[j]) + LEAST_EXP - FRACTION_BITS;
                    float total = (float)(sum[j] + (int32_t)(c[j] * power(-exp)));
                    uint32_t bits;
                    memcpy(&bits, &total, 4);
                    bits &= 0xFFFFFC00u;
                    memcpy(&total, &bits, 4);
                    c[j] = total * power(exp);
                }
            }
}
