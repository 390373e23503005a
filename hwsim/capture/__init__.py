"""Asking real hardware: designed cases, the results that a GPU returned for them, and what they settle.

`hwsim.capture.design` makes cases on which the candidates of every open rule differ, `capture/` in the repository
is the program that runs them on a GPU, `hwsim.capture.store` keeps the results, and `hwsim.capture.judge` says which
candidates they leave.
"""
