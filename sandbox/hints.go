package sandbox

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// explain adds the two lines that come with a verdict: one for whoever wrote
// the program, one for the operator.
func (r *run) explain(result *Result) {
	f := r.finished
	limits := r.session.options.Limits
	switch result.Verdict {
	case OK:
		if f.Lingering > 0 {
			result.Hint = fmt.Sprintf("%d threads were still alive a second after the program ended: its variables were dropped; join threads, or use executors in a with block", f.Lingering)
		} else if f.Forgotten {
			result.Hint = "the program ended its own process: variables of this program are gone, files stay"
		}
	case Exit:
		result.Hint = r.exitHint(result)
	case Wall:
		result.Hint = fmt.Sprintf("stopped after %s: do less at once, or find the loop that does not end", r.wall)
		if spawned.MatchString(result.Stderr.Head) {
			result.Hint = fmt.Sprintf("stopped after %s: workers that are spawned do not find this program's functions; use multiprocessing's \"fork\", or threads", r.wall)
		}
	case CPU:
		result.Hint = fmt.Sprintf("stopped after %s of CPU time: vectorise, sample the data, or use a cheaper method", r.cpu)
	case OOM:
		result.Hint = fmt.Sprintf("killed at %s of memory (files in /workspace and /tmp count to it): read the file in chunks, load only the columns you need, delete what is done", size(limits.Memory))
	case PIDs:
		result.Hint = fmt.Sprintf("no more than %d processes and threads fit in here: start fewer, and wait for them", limits.PIDs)
	case Disk:
		result.Hint = fmt.Sprintf("the disk is full: /workspace holds %s, /tmp %s, each %d files: write less, compress, or delete", size(limits.Workspace), size(limits.Tmp), limits.Inodes)
	case Output:
		result.Hint = fmt.Sprintf("stopped after %s of output: write results to a file in /workspace/out and print a summary", size(limits.OutputStop))
	case Cancelled:
		result.Hint = "cancelled by the caller"
	case Image, Engine, Internal:
		result.Hint = "the sandbox failed, not the program: it may be run again in a new session"
	}
	switch {
	case result.Lost:
		result.Hint = joinSentences(result.Hint, "the process that holds Python's variables was killed: they are gone, files stay")
	case result.Forgotten && result.Verdict != OK && r.program.Language == Python:
		result.Hint = joinSentences(result.Hint, "variables are as they were before this program; files it wrote stay")
	}
	if result.Detail == "" {
		result.Detail = r.detail(result)
	}
}

// brokenEnd is a child's exit code when our own code in it could not go on.
const brokenEnd = 70

func joinSentences(one, two string) string {
	if one == "" {
		return two
	}
	return one + ". " + strings.ToUpper(two[:1]) + two[1:]
}

func (r *run) detail(result *Result) string {
	f := r.finished
	parts := []string{fmt.Sprintf("%s after %.2f s, %.2f CPU-s", result.Verdict, result.Wall.Seconds(), result.CPU.Seconds())}
	if f.Signal > 0 {
		parts = append(parts, fmt.Sprintf("signal %d", f.Signal))
	}
	if f.Left > 0 {
		parts = append(parts, fmt.Sprintf("%d processes left over were killed", f.Left))
	}
	if f.Evidence.OOM != nil && *f.Evidence.OOM > 0 {
		parts = append(parts, fmt.Sprintf("%d memory kills", *f.Evidence.OOM))
	}
	if f.Evidence.PIDs != nil && *f.Evidence.PIDs > 0 {
		parts = append(parts, fmt.Sprintf("%d forks refused", *f.Evidence.PIDs))
	}
	if f.Lost {
		parts = append(parts, "the Python parent was lost and began anew")
	}
	return strings.Join(parts, ", ")
}

var (
	missingModule = regexp.MustCompile(`(?:No module named|Cannot find (?:module|package)) '([^'\n]{1,60})'`)
	networkWords  = regexp.MustCompile(`(?i)name resolution|Name or service not known|Network is unreachable|ENETUNREACH|EAI_AGAIN|getaddrinfo|Could not resolve host|Failed to establish a new connection|ConnectionError|URLError|No module named pip\b`)
	missingFile   = regexp.MustCompile(`(?:No such file or directory|ENOENT)[^\n]{0,200}`)
	memoryWords   = regexp.MustCompile(`MemoryError|Unable to allocate|heap out of memory`)
	spawned       = regexp.MustCompile(`Can't get attribute '[^'\n]{1,60}' on <module '__main__'`)
	screenWords   = regexp.MustCompile(`(?i)interactive framework|no display name|cannot connect to X|could not connect to display`)
	commandLine   = regexp.MustCompile(`(?m)^\s*[%!]\s*\w`)
)

// instead names what the image has in place of what people ask for.
func instead(module string) string {
	switch module {
	case "polars", "duckdb", "dask", "vaex", "modin":
		return "pandas, numpy and sqlite3 are there"
	case "plotly", "bokeh", "altair", "pygal":
		return "matplotlib and seaborn are there"
	case "pptx":
		return "pandoc writes .pptx from Markdown (run it with subprocess)"
	case "pyarrow", "fastparquet":
		return "CSV, Excel and SQLite files can be read and written"
	case "IPython", "ipywidgets":
		return "print tables; figures that are left open are saved by themselves"
	case "requests", "httpx", "aiohttp":
		return "there is no network in here anyway"
	case "tensorflow", "torch", "xgboost", "lightgbm":
		return "scikit-learn and statsmodels are there"
	case "fitz", "pdfplumber", "PyPDF2":
		return "pypdf and pdftotext are there"
	}
	return "use what is installed: there is no network in here, so nothing can be added"
}

// exitHint reads a failed program's own words for what would mend it.
func (r *run) exitHint(result *Result) string {
	text := result.Stderr.Head + result.Stderr.Tail
	switch found := missingModule.FindStringSubmatch(text); {
	case r.finished.Module != "" && strings.HasSuffix(r.finished.Error, "NotFoundError"):
		return r.absent(r.finished.Module)
	case found != nil:
		return r.absent(found[1])
	case networkWords.MatchString(text):
		return "no network in here: no pip install, no downloads; work with the files in /workspace/in"
	case result.ExitCode == 127 || strings.Contains(text, "command not found"):
		return "that command is not installed; no network in here, so nothing can be added"
	case memoryWords.MatchString(text):
		return fmt.Sprintf("asked for more than the %s of memory: read the file in chunks, or use smaller types", size(r.session.options.Limits.Memory))
	case strings.Contains(text, "Read-only file system") || strings.Contains(text, "EROFS"):
		return "only /workspace and /tmp can be written to; files for the answer go to /workspace/out"
	case screenWords.MatchString(text):
		return "there is no display in here: choose no backend; figures that are left open are saved by themselves"
	case strings.Contains(text, "This came when a figure that was left open was saved."):
		return "a figure that was left open cannot be drawn: mend what it shows, or close it"
	case r.finished.Error == "EOFError":
		return "nobody answers in here: put the values into the program in place of input()"
	case spawned.MatchString(text):
		return "workers that are spawned do not find this program's functions; use multiprocessing's \"fork\", or threads"
	case strings.HasSuffix(r.finished.Error, "SyntaxError") && commandLine.MatchString(r.program.Code):
		return "a notebook's commands (%… and !…) do not work in here: it is plain Python; use subprocess, or a program in bash"
	case r.program.Language == SQL && strings.Contains(text, "no such table"):
		return "tables are named after the files in /workspace/in, without the ending, and after DataFrame variables"
	case r.program.Language == SQL && strings.Contains(text, `near "."`):
		return "commands with a dot are the sqlite3 shell's: ask sqlite_master for tables, and pragma table_info for columns"
	case missingFile.MatchString(text):
		return "no such file: inputs are in /workspace/in, and programs start in /workspace"
	case r.finished.Line > 0:
		return fmt.Sprintf("%s in line %d", printable(r.finished.Error, 60), r.finished.Line)
	case r.finished.Silent && result.ExitCode == brokenEnd:
		return "the program could not say how it ended: it changed Python's own modules, or removed what lies in /run"
	case r.finished.Signal == 11 || r.finished.Signal == 6:
		return fmt.Sprintf("crashed in a library's native code (signal %d)", r.finished.Signal)
	case r.finished.Signal > 0:
		return fmt.Sprintf("ended by signal %d", r.finished.Signal)
	}
	return ""
}

func (r *run) absent(module string) string {
	top, _, _ := strings.Cut(module, ".")
	var inventory struct {
		Python map[string]string `json:"python"`
	}
	have := instead(top)
	if json.Unmarshal(r.session.info.Inventory, &inventory) == nil {
		if _, found := inventory.Python[strings.ToLower(top)]; found {
			have = "it is installed under another name: look at the list of libraries"
		}
	}
	return fmt.Sprintf("module %s is absent; %s", printable(module, 60), have)
}
