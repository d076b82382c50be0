"""The tables of revision 0001, as they were; never edited, whatever becomes of the schema."""
