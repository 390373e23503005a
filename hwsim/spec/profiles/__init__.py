"""The units that ship with hwsim, one YAML file each."""
