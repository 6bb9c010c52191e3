package ledger

import (
	"strings"
	"testing"
)

// Compactions of agents whose harnesses call things otherwise.
func TestOtherHarnesses(t *testing.T) {
	const ask = "user: Make the ferry's bookings survive a restart, please, and test it with pytest.\n"
	const editPy = `call str_replace_editor {"command":"str_replace","path":"/w/quay/book.py","old_str":"a","new_str":"def keep(): pass"}` + "\nok: The file /w/quay/book.py has been edited.\n"
	const undoPy = `call str_replace_editor {"command":"undo_edit","path":"/w/quay/book.py"}` + "\nok: Last edit to /w/quay/book.py undone successfully.\n"
	play(t, []scenario{
		// Edits.
		{"sed in place", ask + claude("sed -i 's/a/b/' quay/book.py quay/pier.py") + "ok: \n", []string{"book.py", "pier.py"}, []string{"read:"}},
		{"sed in place, as on a mac", ask + claude("sed -i '' 's/a/b/' quay/book.py") + "ok: \n", []string{"quay/book.py"}, []string{"read:"}},
		{"perl in place", ask + claude("perl -pi -e 's/a/b/' quay/book.py") + "ok: \n", []string{"quay/book.py"}, []string{"read:"}},
		{"a heredoc", ask + claude("cat > quay/book.py <<'EOF'\\nimport os\\ndef keep(): pass\\nEOF") + "ok: \n", []string{"quay/book.py"}, []string{"read:"}},
		{"a heredoc behind", ask + claude("cat <<'EOF' >> quay/book.py\\ndef keep(): pass\\nEOF") + "ok: \n", []string{"quay/book.py"}, []string{"read:"}},
		{"tee", ask + claude("echo x | tee -a quay/book.py") + "ok: x\n", []string{"quay/book.py"}, nil},
		{"an editor with commands", ask + `call str_replace_editor {"command":"view","path":"/w/quay/pier.py"}` + "\nok: a\n" + `call str_replace_editor {"command":"insert","path":"/w/quay/book.py","insert_line":3,"new_str":"def keep(): pass"}` + "\nok: The file /w/quay/book.py has been edited.\n", []string{"/w/quay/book.py (keep)", "read: quay/pier.py"}, nil},
		{"an editor that is asked in vain", ask + `call str_replace_editor {"command":"str_replace","path":"/w/quay/book.py","old_str":"a","new_str":"b"}` + "\nok: No replacement was performed, old_str `a` did not appear verbatim in /w/quay/book.py.\n", []string{"edits failed: quay/book.py"}, nil},
		{"an edit that is taken back", ask + `call str_replace_editor {"command":"create","path":"/w/quay/book.py","file_text":"def keep(): pass"}` + "\nok: File created successfully at: /w/quay/book.py\n" + `call str_replace_editor {"command":"undo_edit","path":"/w/quay/book.py"}` + "\nok: Last edit to /w/quay/book.py undone successfully.\n", []string{"book.py (put back as it was)"}, []string{"×2", "(keep)"}},
		{"an edit that is taken back after a run", ask + editPy + claude("pytest") + "ok: 3 passed in 0.1s\n" + undoPy, []string{"pytest → passed; edited since: book.py", "book.py (put back as it was)"}, []string{"read:"}},
		{"one of two that is taken back", ask + editPy + strings.ReplaceAll(editPy, "keep", "rope") + undoPy, []string{"book.py ×3 (keep)"}, []string{"rope", "put back"}},
		{"both that are taken back", ask + editPy + strings.ReplaceAll(editPy, "keep", "rope") + undoPy + undoPy + claude("pytest") + "ok: 3 passed in 0.1s\n", []string{"book.py (put back as it was)", "pytest → passed"}, []string{"rope", "edited since"}},
		{"one that is taken back in vain", ask + editPy + strings.ReplaceAll(undoPy, "ok: ", "fail: "), []string{"book.py (keep)"}, []string{"put back"}},
		{"cells", ask + `call edit_notebook_file {"target_file":"/w/quay/tides.ipynb","old_string":"a","new_string":"b","cell_idx":2}` + "\nok: done\n", []string{"/w/quay/tides.ipynb"}, nil},
		{"a patch by a shell", ask + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Add File: quay/book.py\\n+def keep(): pass\\n*** Delete File: quay/old.py\\n*** End Patch\\nEOF", "0", `Success. Updated the following files:\nA quay/book.py\nD quay/old.py`), []string{"book.py (keep)", "old.py (deleted)"}, nil},
		{"git apply", ask + claude("git apply - <<'EOF'\\n--- a/quay/book.py\\n+++ b/quay/book.py\\n@@ -1 +1 @@\\n-a\\n+b\\nEOF") + "ok: \n", []string{"quay/book.py"}, nil},
		{"many edits at once", ask + `call multi_edit {"file_path":"/w/quay/book.py","edits":[{"old_string":"a","new_string":"def keep(): pass"},{"old_string":"b","new_string":"c"}]}` + "\nok: Applied 2 edits to /w/quay/book.py\n", []string{"/w/quay/book.py (keep)"}, nil},
		{"cline", ask + `call replace_in_file {"path":"quay/book.py","diff":"<<<<<<< SEARCH\na\n=======\ndef keep(): pass\n>>>>>>> REPLACE"}` + "\nok: The content was successfully saved to quay/book.py.\n", []string{"quay/book.py"}, nil},

		// Task lists.
		{"codex's plan", ask + `call update_plan {"plan":[{"step":"Write the log","status":"completed"},{"step":"Test it","status":"in_progress"},{"step":"Say so","status":"pending"}]}` + "\nok: Plan updated\n", []string{"to do: Test it (in progress) (1 done)", "to do: Say so"}, []string{"to do: Write the log"}},
		{"gemini's todos", ask + `call write_todos {"todos":[{"description":"Write the log","status":"completed"},{"description":"Test it","status":"in_progress"}]}` + "\nok: Successfully updated the todo list.\n", []string{"to do: Test it"}, []string{"to do: Write the log"}},
		{"a checklist in an argument", ask + `call update_todo_list {"todos":"[x] Write the log\n[-] Test it\n[ ] Say so"}` + "\nok: Todo list updated successfully.\n", []string{"to do: Test it", "to do: Say so"}, []string{"to do: Write the log"}},
		{"progress beside any call", ask + `call read_file {"path":"quay/book.py","task_progress":"- [x] Write the log\n- [ ] Test it"}` + "\nok: a\n", []string{"to do: Test it"}, []string{"to do: Write the log"}},

		// Results in the user's turns.
		{"cline's results", ask + "assistant: I read the book first.\nuser: [read_file for 'quay/book.py'] Result:\\ndef keep(): pass\nassistant: It keeps nothing.\n", nil, []string{"Requests: [read_file", "- [read_file", "→ replied"}},
		{"swe-agent's observations", ask + "assistant: I look at the book.\\n```\\ncat quay/book.py\\n```\nuser: OBSERVATION:\\ndef keep(): pass\nassistant: It keeps nothing.\n", nil, []string{"OBSERVATION"}},
		{"open interpreter's results", ask + "assistant: I look at the book.\nuser: Code output: def keep(): pass\\n\\nWhat does this output mean / what's next (if anything, or are we done)?\nassistant: It keeps nothing.\n", nil, []string{"Code output"}},

		{"feedback beside a result", ask + "assistant: I wrote the log.\nuser: [attempt_completion] Result:\\n\\nThe user has provided feedback:\\n<feedback>\\nAnd let the harbour master read the log, please.\\n</feedback>\nassistant: Then I do that.\n", []string{"Requests: And let the harbour master read the log, please."}, []string{"attempt_completion", "provided feedback"}},

		// Other languages.
		{"a request in German", "user: Bitte sorge dafür, dass die Buchungen der Fähre einen Neustart überleben.\n" + `call Edit {"file_path":"/w/quay/book.py","old_string":"a","new_string":"b"}` + "\nok: done\nassistant: Die Buchungen stehen jetzt in einer Datei.\nuser: Und ändere niemals das Format der Nummern, bitte.\n", []string{"Goal: Bitte sorge dafür", "Und ändere niemals das Format"}, nil},
		{"a request in Japanese", "user: フェリーの予約が再起動後も残るようにしてください。\n" + `call Edit {"file_path":"/w/quay/book.py","old_string":"a","new_string":"b"}` + "\nok: done\nassistant: 予約をファイルに書くようにしました。\nuser: テストも書いてください、お願いします。\n", []string{"Goal: フェリーの予約", "テストも書いてください"}, nil},
	})
}
