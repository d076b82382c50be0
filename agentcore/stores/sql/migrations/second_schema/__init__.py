"""What revision 0002 adds, as it was; never edited, whatever becomes of the schema."""
