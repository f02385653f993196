"""The packed forest, the input of all inference, and the ways to build one."""
