// Requests and responses of sdotp: a struct on each side, as units of floating-point clusters have them.
package sdotp_pkg;
  typedef enum logic [2:0] {RNE = 3'd0, RTZ = 3'd1, RDN = 3'd2, RUP = 3'd3} rounding_t;
  typedef struct packed { logic [7:0] factor, other; } pair_t;
  typedef struct packed { rounding_t rounding; pair_t [1:0] pairs; logic [15:0] addend; } request_t;
  // RISC-V's order of flags.
  typedef struct packed { logic nv, dz, of, uf, nx; } status_t;
  typedef struct packed { status_t status; logic [15:0] result; } response_t;
endpackage
