"""What revision 0005 adds, as it was; never edited, whatever becomes of the schema."""
