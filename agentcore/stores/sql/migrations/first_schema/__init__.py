"""The tables of revision 0009, as they were; never edited, whatever becomes of the schema."""
