"""Matrix products on GPUs, bit for bit as a unit returns them: one CUDA C++ source, `product.cu`.

The same source compiled for the host is what tests compare with `hwsim.gemm`. This source has not run on a GPU yet.
"""

from hwsim.compute.cuda.host import gemm_on_host
from hwsim.compute.cuda.settings import Variant, supports, variants

__all__ = ["Variant", "gemm_on_host", "supports", "variants"]
