"""`python -m hwsim.gpu_check`: what a GPU computes, compared with the host bit for bit, and how fast."""
