"""The profiles that ship with hwsim, one YAML file each."""
