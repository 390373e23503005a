"""Campaigns: many co-simulations and random units, from one file, on one machine or many, and over many runs."""
