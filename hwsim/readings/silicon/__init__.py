"""Asking real hardware: designed cases, the results that a GPU returned for them, and what they settle.

`design` makes cases on which the candidates of every open rule differ, `capture/` in the repository is the program that
runs them on a GPU, `store` keeps the results, and `judge` says which candidates they leave.
"""
