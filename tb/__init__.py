"""cocotb testbenches. They play jobs that cosim wrote, and know nothing of the arithmetic."""
