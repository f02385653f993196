"""The packed forest, which is all that inference ever sees, and the ways to build one."""
