"""Cases for real hardware, the results that a GPU returned for them, and the rules that these settle.

`design` makes cases on which the candidates of every open rule differ, `capture/` in the repository is the program that
runs them on a GPU, `store` keeps the results, and `judge` finds the candidates that explain them.
"""
