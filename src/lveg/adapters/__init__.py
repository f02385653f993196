"""Models as other libraries expect them; each module needs the library that it is named after."""
