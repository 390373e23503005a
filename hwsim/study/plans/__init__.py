"""The plans of studies that come with hwsim, one a file."""
