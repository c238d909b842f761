"""CSVs as tables: what can be asked, and what is refused or stopped."""

import pytest

from engine.models import DocumentLimits
from toolbox import documents
from toolbox.csv_query import NotATable, csv_table, run_select

SALES = b'Region,Year,Amount,Number\nNorth,2025,"1,200.50",007\nNorth,2026,900.25,008\nSouth,2026,,009\n'
LIMITS = DocumentLimits(1, 10**7, 10**7)


def table(data=SALES):
    return csv_table(documents.read_document("sales.csv", data, LIMITS).lines)


def test_numbers_are_numbers_and_names_of_things_are_not():
    found = table()
    assert found.columns == ("Region", "Year", "Amount", "Number")
    assert found.rows == (("North", 2025, 1200.5, "007"), ("North", 2026, 900.25, "008"), ("South", 2026, None, "009"))
    assert '3 rows. Its columns: "Region" (text), "Year" (numbers)' in found.described()


def test_a_sum_comes_out_in_a_row_that_can_be_quoted():
    sql = "SELECT Region, SUM(Amount) AS total FROM data GROUP BY Region"
    assert (
        run_select(table(), sql) == f"{sql}\nRow 1: Region: North; total: 2100.75\nRow 2: Region: South; total: nothing"
    )


def test_records_whose_lines_were_broken_are_whole_again():
    data = b"id,words,last\n" + b"".join(b"%d,%s,end\n" % (n, b"many words here " * n) for n in range(1, 40))
    assert [row[2] for row in table(data).rows] == ["end"] * 39


DECIMALS = {  # cells of two columns, and the numbers that they are
    "1.234,50;7|980,00;8": [(1234.5, 7), (980, 8)],
    "1,5;1.234|2,25;2.000": [(1.5, 1234), (2.25, 2000)],
    "-0,5;x|1.000.000,01;y": [(-0.5, "x"), (1000000.01, "y")],
    "1,234;a|5,678;b": [(1234, "a"), (5678, "b")],
    "1.234;a|5.678;b": [(1.234, "a"), (5.678, "b")],
    "1,50;52.52|2,50;13.4": [(1.5, 52.52), (2.5, 13.4)],
    "12,345.5;a|1.5;b": [(12345.5, "a"), (1.5, "b")],
    "007;1,5|008;2,5": [("007", 1.5), ("008", 2.5)],
    "1,5;|;2": [(1.5, None), (None, 2)],
    "1 234,50;a|980,00;b": [(1234.5, "a"), (980, "b")],  # as in France, with spaces of any width
    "1'234.50;1’000|-12’345.5;7": [(1234.5, 1000), (-12345.5, 7)],  # as in Switzerland
    "030 123;1 2|030 456;3 4": [("030 123", "1 2"), ("030 456", "3 4")],
}


def test_a_decimal_comma_is_read_as_one_where_it_can_be_nothing_else():
    found = {rows: list(table(f"a;b\n{rows}\n".replace("|", "\n").encode()).rows) for rows in DECIMALS}
    assert {rows: found[rows] for rows in DECIMALS if found[rows] != DECIMALS[rows]} == {}


def test_a_row_with_more_cells_than_columns_is_no_row_of_the_table():
    assert table(b"a,b\n1,2,\n").rows == ((1, 2),)
    with pytest.raises(NotATable, match="Row 2 has 3 cells, and there are 2 columns"):
        table(b"a,b\n1,2\n1,50,2\n")


def test_columns_without_a_name_or_with_the_same_get_one():
    assert table(b'a,A,,"b""c"\n1,2,3,4\n').columns == ("a", "A 2", "column 3", "b c")
    assert run_select(table(b"a,b\n1\n"), 'SELECT "b" FROM data').endswith("Row 1: b: ")


REFUSED = """drop table data|insert into data values (1,2,3,4)|attach 'x.db' as x|pragma database_list
select load_extension('x')|select randomblob(10)|select writefile('x', 'y')|create temp table x as select 1
vacuum into 'x.db'|select * from sqlite_master|select * from pragma_database_list|select printf('%0900000d', 1)
select 1; select 2|delete from data|select zeroblob(900000000)|update data set Year = 1|begin|select hex(zeroblob(9))
select readfile('/etc/passwd')|select * from nothing|not sql at all|""".replace("\n", "|").split("|")


def test_what_is_no_select_over_the_table_is_refused():
    for sql in REFUSED:
        with pytest.raises(NotATable):
            run_select(table(), sql)


@pytest.mark.parametrize(
    "sql",
    [
        "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n",
        "select count(*) from data a, data b, data c, data d",
        "select length(group_concat(a.Region || b.Region)) from data a, data b, data c",
    ],
)
def test_what_has_no_end_is_stopped(sql):
    large = table(b"Region,Year\n" + b"North,2026\n" * 3_000)
    with pytest.raises(NotATable):
        run_select(large, sql)


def test_no_more_rows_are_shown_than_can_be_read():
    found = run_select(table(b"a,b\n" + b"1,2\n" * 500), "select * from data")
    assert (found.count("Row "), found.endswith("There are more rows than 200.")) == (200, True)
    with pytest.raises(NotATable, match="no row"):
        table(b"alone,here\n")
