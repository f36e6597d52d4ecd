package outcome

import "strings"

// Class is what kind of work a tool does.
type Class string

// The classes that outcomes depend on.
const (
	ClassEdit   Class = "edit"
	ClassRead   Class = "read"
	ClassSearch Class = "search"
	ClassShell  Class = "shell"
	ClassTest   Class = "test"
	ClassHTTP   Class = "http"
	ClassAgent  Class = "agent"
	ClassMCP    Class = "mcp"
)

// AllClasses lists the classes.
func AllClasses() []Class {
	return []Class{ClassEdit, ClassRead, ClassSearch, ClassShell, ClassTest, ClassBuild, ClassVCS, ClassHTTP, ClassAgent, ClassMCP}
}

// toolClasses lists the tools of known agents, in lower case.
var toolClasses = map[string]Class{
	"edit": ClassEdit, "multiedit": ClassEdit, "write": ClassEdit, "notebookedit": ClassEdit, "apply_patch": ClassEdit,
	"edit_file": ClassEdit, "write_file": ClassEdit, "create_file": ClassEdit, "str_replace": ClassEdit, "replace": ClassEdit,
	"str_replace_editor": ClassEdit, "str_replace_based_edit_tool": ClassEdit, "file_change": ClassEdit,
	"read": ClassRead, "read_file": ClassRead, "view": ClassRead, "notebookread": ClassRead, "read_many_files": ClassRead,
	"grep": ClassSearch, "glob": ClassSearch, "ls": ClassSearch, "list_directory": ClassSearch, "search_file_content": ClassSearch,
	"bash": ClassShell, "shell": ClassShell, "exec": ClassShell, "execute": ClassShell, "exec_command": ClassShell,
	"run_shell_command": ClassShell, "terminal": ClassShell, "execute_bash": ClassShell, "local_shell": ClassShell, "command_execution": ClassShell,
	"execute_command": ClassShell, "run_command": ClassShell, "run_terminal_cmd": ClassShell, "shell_command": ClassShell, "powershell": ClassShell, "developer__shell": ClassShell,
	"write_to_file": ClassEdit, "replace_in_file": ClassEdit, "search_replace": ClassEdit, "apply_diff": ClassEdit, "insert_content": ClassEdit, "developer__text_editor": ClassEdit,
	"list_files": ClassSearch, "search_files": ClassSearch, "grep_search": ClassSearch, "file_search": ClassSearch, "codebase_search": ClassSearch, "list_dir": ClassSearch,
	"delete_file": ClassEdit, "move_file": ClassEdit, "rename_file": ClassEdit, "copy_file": ClassEdit, "delete_path": ClassEdit, "move_path": ClassEdit, "copy_path": ClassEdit,
	"replace_string_in_file": ClassEdit, "multi_replace_string_in_file": ClassEdit, "insert_edit_into_file": ClassEdit, "edit_notebook_file": ClassEdit, "replace_file_content": ClassEdit,
	"search_and_replace": ClassEdit, "fs_write": ClassEdit, "create_text_file": ClassEdit, "edit_block": ClassEdit, "append_to_file": ClassEdit, "patch": ClassEdit,
	"read_text_file": ClassRead, "read_multiple_files": ClassRead, "view_file": ClassRead, "open_file": ClassRead, "fs_read": ClassRead,
	"find_by_name": ClassSearch, "find_path": ClassSearch, "find_file": ClassSearch, "semantic_search": ClassSearch, "directory_tree": ClassSearch, "list_code_definition_names": ClassSearch,
	"run_in_terminal": ClassShell, "execute_shell_command": ClassShell, "shell_exec": ClassShell, "container.exec": ClassShell, "local_shell_call": ClassShell, "run_bash_command": ClassShell, "run_shell": ClassShell,
	"run_tests": ClassTest, "runctest": ClassTest, "runtests": ClassTest, "run_test": ClassTest, "run_unit_tests": ClassTest,
	"runsubagent": ClassAgent, "delegate_task": ClassAgent, "delegate_to_agent": ClassAgent, "codebase_investigator": ClassAgent, "new_task": ClassAgent,
	"webfetch": ClassHTTP, "web_fetch": ClassHTTP, "http.request": ClassHTTP, "http_request": ClassHTTP, "fetch": ClassHTTP,
	"task": ClassAgent, "agent": ClassAgent, "delegate": ClassAgent, "spawn_subagent": ClassAgent, "spawn_agent": ClassAgent,
}

// Set is the classes of a call.
type Set map[Class]bool

// Classes returns the classes that a tool's name gives. Names of MCP tools
// (mcp__server__tool) have the class mcp and that of the tool itself.
func Classes(tool string) Set { return defaults.Classes(tool) }

// Classes is the package's Classes by these tables.
func (t *Tables) Classes(tool string) Set {
	s := Set{}
	name := strings.ToLower(tool)
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		s[ClassMCP] = true
		if _, inner, ok := strings.Cut(rest, "__"); ok {
			name = inner
		}
	}
	c, ok := t.Tools[strings.ToLower(tool)]
	if !ok {
		c, ok = t.Tools[name]
	}
	if ok {
		s[c] = true
	}
	return s
}

// any tells whether the set holds one of the classes.
func (s Set) any(classes ...Class) bool {
	for _, c := range classes {
		if s[c] {
			return true
		}
	}
	return false
}

// Delegates tells whether a tool hands work to another agent.
func (t *Tables) Delegates(tool string) bool { return t.Classes(tool)[ClassAgent] }
