from .library import (
    FILE_SUFFIX as FILE_SUFFIX,
    FOLDER as FOLDER,
    KNOWN as KNOWN,
    MAX_BYTES as MAX_BYTES,
    Directive as Directive,
    DirectiveLibrary as DirectiveLibrary,
    KnownDirective as KnownDirective,
    built_in as built_in,
    known_directives as known_directives,
    readers as readers,
    require_known as require_known,
    standing as standing,
)
