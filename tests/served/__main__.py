from tests.served.table import DOCUMENT, document

DOCUMENT.write_text(document())
