"""Downloads followed through real tors and the links between them, from the records of both."""
