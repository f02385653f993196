"""A page in the browser and a JSON interface for trained models: `lveg serve`.

The process that speaks HTTP never loads a model. Worker processes do the work, one request at a time each, so that
a request can be stopped at its deadline by ending its process: compiled code cannot be interrupted in a thread.
"""
