package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/listing"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/records"
)

// TestDeclarationIn: what a line declares, in the languages that agents read, and lines that declare nothing.
func TestDeclarationIn(t *testing.T) {
	for line, want := range map[string]string{
		"func Open(path string) (*Store, error) {": "Open", "func (s *Store) Close() error {": "Close", "func Map[T any](list []T) {": "Map", "type Store struct {": "Store",
		"def total(self, rows):": "total", "    async def load(self):": "load", "class Cart(Base):": "Cart",
		"export default async function load(id: string) {": "load", "export const total = (rows: Row[]) => {": "total", "const helper = async () => {": "helper", "export interface Row {": "Row", "export type Id = string;": "Id",
		"  async load(id: string): Promise<Row> {": "load", "  private readonly load(id: string) {": "load", "  constructor(private a: A) {": "constructor",
		"pub(crate) fn slide<T>(points: Vec<T>) -> T {": "slide", "    pub fn new() -> Self {": "new", "impl Window {": "Window", "pub enum Kind {": "Kind", "macro_rules! keep {": "keep",
		"public class Cart extends Base {": "Cart", "    public static int total(List<Row> rows) {": "total", "    protected abstract void close() throws IOException;": "", "public record Row(int id) {": "Row",
		"static int store_open(const char *path) {": "store_open", "struct store {": "store", "#define MAX(a, b) ((a) > (b) ? (a) : (b))": "MAX",
		"  def total(rows)": "total", "module Ledger": "Ledger", "fun total(rows: List<Row>): Int {": "total", "data class Row(val id: Int)": "Row", "func total(_ rows: [Row]) -> Int {": "total",
		"CREATE TABLE IF NOT EXISTS orders (": "orders", "message Order {": "Order", "resource \"aws_s3_bucket\" \"ledger\" {": "aws_s3_bucket.ledger", "data \"aws_vpc\" \"this\" {": "aws_vpc.this", "module \"vpc\" {": "vpc", "local function total(rows)": "total", "deploy() {": "deploy",
		"defmodule Cart do": "Cart",
		// none
		"if (a) {": "", "  useEffect(() => {": "", "return total(rows);": "", "describe(\"cart\", () => {": "", "const a = 1;": "", "total(rows);": "", "} else {": "", "// func Open(": "", "  type Row,": "", "        deep() {": "", "for (const a of b) {": "", "expect(total(rows)).toBe(3);": "", "x := total(rows)": "", "": "", "import { a } from \"b\";": "",
	} {
		d, ok := outline.In(strings.TrimLeft(line, " "), indentOf(line), "")
		if got := d.Name; ok && got != want || !ok && want != "" {
			t.Errorf("%q declares %q (%v), want %q", line, got, ok, want)
		}
	}
}

// TestTree: every path of a listing can be put together again, and what does not fit is counted.
func TestTree(t *testing.T) {
	for name, text := range map[string]string{
		"paths":    "src/a.go\nsrc/b.go\nsrc/api/c.go\nsrc/api/d.go\ndocs/e.md\nREADME.md\n",
		"ls -R":    ".:\nREADME.md\n\n./src:\na.go\nb.go\n\n./src/api:\nc.go\nd.go\n\n./docs:\ne.md\n",
		"a tree":   ".\n├── README.md\n├── docs\n│   └── e.md\n└── src\n    ├── a.go\n    ├── api\n    │   ├── c.go\n    │   └── d.go\n    └── b.go\n\n3 directories, 6 files\n",
		"a bullet": "- docs/\n  - e.md\n- src/\n  - a.go\n  - b.go\n  - api/\n    - c.go\n    - d.go\n- README.md\n",
	} {
		paths, ok := listing.Paths(text)
		if !ok {
			t.Errorf("%s: no listing", name)
			continue
		}
		got := listing.Tree(paths, 600)
		for _, want := range []string{"src/: a.go b.go", "src/api/: c.go d.go", "docs/e.md", "README.md"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
	}
	var many []string
	for i := range 400 {
		many = append(many, "src/part"+itoa(i/20)+"/file"+itoa(i)+".go")
	}
	got := listing.Tree(many, 400)
	if lex.Runes(got) > 400 || !strings.Contains(got, " in ") || !strings.HasPrefix(got, "src/\n") {
		t.Errorf("%d characters:\n%s", lex.Runes(got), got)
	}
}

// TestRecordsWithoutRow: records that have no room for a row are named by their ids, or else by their short names, if that has room.
func TestRecordsWithoutRow(t *testing.T) {
	text := func(member string, count int) string {
		var list []string
		for i := range count {
			list = append(list, fmt.Sprintf(`{%s, "size": "the %d of the sizes of this article", "note": "kept in hall %d of the store, at the gate"}`, fmt.Sprintf(member, 4410+i), i, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for name, c := range map[string]struct {
		text, want string
	}{
		"ids":             {text(`"item_id": "%d"`, 8), "\n+3 records: 4415, 4416, 4417"},
		"names":           {text(`"name": "hall %d"`, 8), "\n+3 records: hall 4415, hall 4416, hall 4417"},
		"with a bar":      {text(`"item_id": "a|%d"`, 8), "\n+3 records: a|4415, a|4416, a|4417"},
		"with a comma":    {text(`"item_id": "a, %d"`, 8), " records"},
		"too many":        {text(`"item_id": "%d"`, 80), "\n+75 records"},
		"nothing to name": {text(`"item_id": "same", "made": "2026-03-02T10:%d"`, 8), "\n+4 records"},
	} {
		if got := tableOf(c.text, 540); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
	table, missing := records.Table(text(`"item_id": "%d"`, 80), records.Of(text(`"item_id": "%d"`, 80), nil), nil, 480)
	if whole := len(text(`"item_id": "%d"`, 80)); missing < whole*9/10 || missing > whole {
		t.Errorf("%d of %d characters are missing in\n%s", missing, whole, table)
	}
}

func tableOf(text string, room int) string {
	table, _ := records.Table(text, records.Of(text, nil), nil, room)
	return table
}

// TestRecordTable: rows stand under their fields, and what stands around the records is told.
func TestRecordTable(t *testing.T) {
	text := `{"state":"OPEN","checks":[{"name":"build","ok":true,"secs":12},{"name":"lint","ok":false,"secs":3},{"name":"test","ok":true,"secs":40}],"files":[{"path":"a"},{"path":"b"}]}`
	want := "state=OPEN, files: 2 objects\n3 records in checks\nname | ok | secs\nbuild | true | 12\nlint | false | 3\ntest | true | 40"
	if got := tableOf(text, 700); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	text = `[{"id":1,"event":"push","secs":12},{"id":2,"event":"push","secs":3}]`
	if got, want := tableOf(text, 700), "2 records: event=push\nid | secs\n1 | 12\n2 | 3"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	text = `{"commits":[{"oid":"a","by":{"x":1}},{"oid":"b","by":{"x":1}}],"checks":[{"name":"build","state":"ok"},{"name":"lint","state":"ok"}]}`
	if got := tableOf(text, 700); !strings.HasPrefix(got, "commits: 2 objects\n2 records in checks: state=ok\n") {
		t.Errorf("of two arrays the table shows\n%s", got)
	}
	text = `{"name":"Keyboard","variants":{"v1":{"price":236,"options":{"size":"60%"}},"v2":{"price":269,"options":{"size":"80%"}},"v3":{"price":226,"options":{"size":"80%"}},"v4":{"price":230,"options":{}}}}`
	if got, want := tableOf(text, 700), "name=Keyboard\n4 records\nkey | price | options.size\nv1 | 236 | 60%\nv2 | 269 | 80%\nv3 | 226 | 80%\nv4 | 230 | -"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	text = `{"id":"W1","items":[{"id":1,"in":{"s/m":"s","n":1}},{"id":2,"in":{"s/m":"m","n":2}}],"swapped":["1","2"],"paid":[{"how":"card","amount":12.5}]}`
	if got, want := tableOf(text, 700), "id=W1, swapped: [1, 2], paid(how=card, amount=12.5)\n2 records in items\nid | in\n1 | s/m s, n 1\n2 | s/m m, n 2"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	flight := func(no, price int) string {
		return fmt.Sprintf(`{"flight_number":"HAT%03d","origin":"JFK","destination":"ATL","date":"2024-05-20","seats":{"basic":%d,"full":2},"prices":{"basic":%d,"full":200}}`, no, price%7, price)
	}
	var groups []string
	for i := range 12 {
		groups = append(groups, "["+flight(1, 50)+","+flight(20+i, 100+i)+"]")
	}
	text = "[" + strings.Join(groups, ",") + "]"
	got := tableOf(text, 400)
	for _, want := range []string{"24 records in 12 groups: ", "seats, prices (basic/full)\n", "seats | prices\n1-12: HAT001 | ", "\n2: HAT021 | ", "/200\n+", " records"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if lines := strings.Split(got, "\n"); !strings.HasPrefix(lines[len(lines)-1], fmt.Sprintf("+%d records", 24-12-(len(lines)-4))) {
		t.Errorf("the rows and the rest are not all records:\n%s", got)
	}
	if records.Of(`{"a":1}`, nil) != nil || records.Of("[1,2,3]", nil) != nil || records.Of("{\"a\":1}\n{\"a\":2}\nx", nil) != nil {
		t.Error("records where there are none")
	}
	if n := len(records.Of("{\"a\":1}\n{\"a\":2}\n", nil)); n != 2 {
		t.Errorf("%d records in lines", n)
	}
	if n := len(records.Of("Warning: 40 lines cut\n"+strings.Repeat("{\"a\":1}\n", 20)+"{\"a", nil)); n != 20 {
		t.Errorf("%d records in lines that were cut", n)
	}
}

// TestGroupedRecords: what inner arrays hold together stays together, and is not told once with a count.
func TestGroupedRecords(t *testing.T) {
	var groups []string
	for n := range 8 {
		groups = append(groups, fmt.Sprintf(`[{"flight":"QY110","from":"RST","to":"BOO","departs":"14:00","seats":9},{"flight":"QY2%02d","from":"BOO","to":"OSL","departs":"1%d:30","seats":%d}]`, n, n, n))
	}
	text := ToolOutput(Input{ToolName: "search_connections", Content: "[" + strings.Join(groups, ",") + "]", MaxChars: 700, MessageID: "m1"}).Text
	for _, want := range []string{"16 records in 8 groups", "\n1-8: QY110 |", "\n1: QY200 |", "\n2: QY201 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestMarkIsWhole: a table gives way to the mark below it, whose id, or its end, is what the original is found by.
func TestMarkIsWhole(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `%s{"id": %d, "name": "part %d of the upload", "state": "done"}`, []string{"[", ","}[min(i, 1)], 9000+i*i, i*i)
	}
	for limit := 260; limit < 800; limit++ {
		text := ToolOutput(Input{MessageID: "thread-4293-message-00031", ToolName: "list_parts", Content: b.String() + "]", MaxChars: limit}).Text
		if lex.Runes(text) > limit || !strings.HasSuffix(text, "; message …ge-00031]") {
			t.Fatalf("%d: %s", limit, text)
		}
	}
}

// TestHeadings: documents are listed by their headings, and a report's conclusion is shown.
func TestHeadings(t *testing.T) {
	doc := newDocument("# Retries\ntext\n```sh\n# no heading\n```\n## Usage\n\n**Limits:**\n#tag\n## Conclusion\nRetries end after five attempts, and the job is buried.\n", WebContent, nil)
	doc.findLandmarks(WebContent)
	var names []string
	for _, m := range doc.landmarks {
		names = append(names, m.name)
	}
	if got := strings.Join(names, ","); got != "Retries,Usage,Limits,Conclusion" {
		t.Errorf("headings %s", got)
	}
	if lines := doc.conclusions(false); len(lines) != 1 || !strings.HasPrefix(doc.lines[lines[0]].text, "Retries end") {
		t.Errorf("conclusions %v", lines)
	}
}

// TestShortestEnds: files are named by the shortest end of their paths that tells them apart.
func TestShortestEnds(t *testing.T) {
	if got := strings.Join(shortNames([]string{"a/x.go", "b/x.go", "c/y.go", "y.md"}), " "); got != "a/x.go b/x.go y.go y.md" {
		t.Error(got)
	}
}

// TestDottedView: numbers with dots on every line are line numbers, those of a list's items are text.
func TestDottedView(t *testing.T) {
	view := "41. # Retries\n42. \n43. 1. The job fails.\n44. 2. It is queued again.\n45. ## Limits\n"
	if got, ok := undotted(view); !ok || got != "41→# Retries\n42→\n43→1. The job fails.\n44→2. It is queued again.\n45→## Limits\n" {
		t.Errorf("%v %q", ok, got)
	}
	if _, ok := undotted("# Retries\n1. a\n2. b\n3. c\n4. d\n5. e\nIt ends.\n"); ok {
		t.Error("a list is taken for a view")
	}
	var b strings.Builder
	for i := range 90 {
		b.WriteString(itoa(i+300) + ". func part" + itoa(i) + "(orders []Order) error {\n")
	}
	text := ToolOutput(Input{ToolName: "view", Arguments: []byte(`{"path":"src/orders.go"}`), Content: b.String(), MaxChars: 800}).Text
	if !strings.Contains(text, "Lines: 300-389") || !strings.Contains(text, "300|func part0(") && !strings.Contains(text, "300 part0") {
		t.Errorf("\n%s", text)
	}
}

// TestBareMatches: matches without line numbers stand below their file's name.
func TestBareMatches(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("internal/orders/part" + itoa(i/10) + ".go:\treturn errorOf" + itoa(i) + "(order, reasonFor" + itoa(i) + ")\n")
	}
	text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"grep -r errorOf internal"}`), Content: b.String(), MaxChars: 800}).Text
	if !strings.Contains(text, "Matches: 40") || !strings.Contains(text, "\ninternal/orders/part0.go\nreturn errorOf") || strings.Contains(text, "go:") {
		t.Errorf("\n%s", text)
	}
}

// TestAbout: of an object that does not fit, ids, names and states are told, and neither the ids of others nor addresses.
func TestAbout(t *testing.T) {
	text := `{"url":"https://api.example.com/pulls/7","id":70,"author_id":71,"merge_commit_id":72,"created_at":"2026-03-02T10:00:00Z","number":7,"state":"open","title":"Retry the upload","conclusion":"failure","labels":[{"id":1},{"id":2}]}`
	if got, want := records.About(text, "", 80, 0), "id=70, number=7, state=open, title=Retry the upload, conclusion=failure"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	body := strings.TrimSuffix(text, "}") + `,"body":"` + strings.Repeat("The upload is sent again behind each answer. ", 60) + `"}`
	out := ToolOutput(Input{ToolName: "fetch_pull", Content: body, MaxChars: 800}).Text
	if !strings.Contains(out, "id=70, ") || !strings.Contains(out, "title=Retry the upload, conclusion=failure, labels: 2 objects") || strings.Contains(out, "records") {
		t.Errorf("\n%s", out)
	}
}

// TestFormState: of a form, what is checked and filled in is shown, with the text of the label that was clicked.
func TestFormState(t *testing.T) {
	var b strings.Builder
	b.WriteString("RootWebArea 'Tablet', focused\n")
	for i := range 60 {
		fmt.Fprintf(&b, "\t[b%d] link 'Section number %d of the catalog'\n", i, i)
	}
	b.WriteString("\t[a1] radio '\\uf137 128 GB', checked='false'\n\t[a2] radio '\\uf137 256 GB', checked='true'\n\t[a3] LabelText ''\n\t\tStaticText '256 GB'\n" +
		"\t[a4] combobox 'How many' value='7'\n\t\t[a5] option '6', selected=False\n")
	in := Input{ToolName: "browser_click", Arguments: []byte(`{"args":"'a3'"}`), Content: b.String(), MaxChars: 800}
	text := ToolOutput(in).Text
	for _, want := range []string{"256 GB', checked='true'", "[a3] LabelText ''\nStaticText '256 GB'", "[a4] combobox 'How many' value='7'"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestSmallObjectsInRows: small objects are one value of a row, with their names once; those that differ are none.
func TestSmallObjectsInRows(t *testing.T) {
	var same, other []string
	for i := range 40 {
		same = append(same, fmt.Sprintf(`{"id":"k%d","size":{"wide":%d,"high":%d},"price":%d}`, i, i*3, i*5, 100+i))
		other = append(other, fmt.Sprintf(`{"id":"k%d","size":{"wide":%d,"%s":%d},"price":%d}`, i, i*3, []string{"high", "deep"}[i%2], i*5, 100+i))
	}
	show := func(list []string) string {
		return ToolOutput(Input{ToolName: "get", Content: "[" + strings.Join(list, ",") + "]", MaxChars: 800}).Text
	}
	if text := show(same); !strings.Contains(text, "size(wide/high)") || !strings.Contains(text, "k1 | 3/5 | 101") {
		t.Error(text)
	}
	if text := show(other); strings.Contains(text, "3/5") {
		t.Error(text)
	}
}

// TestLandmarksOf: headings that are underlined as their document has it, and sections of settings, not what only looks like them.
func TestLandmarksOf(t *testing.T) {
	for _, test := range []struct {
		path, text string
		want       []string
	}{
		{"a.rst", "Usage\n=====\n\nRetries\n~~~~~~~\n\nOne.\n\nLimits\n^^^^^^\n\nTwo.\n", []string{"Usage", "Retries", "Limits"}},
		{"a.md", "# Usage\n\nRun:\n~~~~\n# no heading\n~~~~\n\nLimits\n------\n", []string{"Usage", "Limits"}},
		{"a.toml", "[lib]\nname = 1\n\n[[bin]]\nname = 2\n[ 12%] Linking foo [ok]\n[10:00:00] GET /x [200]\nsteps: [\n 1\n]\n", []string{"[lib]", "[[bin]]", "steps"}},
	} {
		d := read(Input{}, test.text, FileContent, call.ParseArguments([]byte(`{"file_path":"`+test.path+`","offset":1}`)))
		var got []string
		for _, m := range d.landmarks {
			got = append(got, m.name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}
