package sandbox

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestSpecGolden holds the container's whole configuration against a file: a
// loosened setting shows in a diff.
func TestSpecGolden(t *testing.T) {
	for _, runtime := range []string{"runc", "runsc"} {
		t.Run(runtime, func(t *testing.T) {
			options, err := Options{Owner: "golden", Runtime: runtime, Image: "image"}.checked()
			if err != nil {
				t.Fatal(err)
			}
			spec, err := newSpec(options, "sha256:0", map[string]string{labelOwner: "golden"})
			if err != nil {
				t.Fatal(err)
			}
			spec.Config.Entrypoint[len(spec.Config.Entrypoint)-1] = "(guest/loader.py)"
			for i, option := range spec.Host.SecurityOpt {
				if strings.HasPrefix(option, "seccomp=") {
					spec.Host.SecurityOpt[i] = "seccomp=(seccomp.json)"
				}
			}
			found, err := json.MarshalIndent(spec, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/spec-"+runtime+".json", append(found, '\n'))
		})
	}
}

// TestSeccompRefuses names the calls that must never be on the list.
func TestSeccompRefuses(t *testing.T) {
	var profile struct {
		DefaultAction string `json:"defaultAction"`
		Syscalls      []struct {
			Names  []string          `json:"names"`
			Action string            `json:"action"`
			Args   []json.RawMessage `json:"args"`
		} `json:"syscalls"`
	}
	if err := json.Unmarshal([]byte(seccompProfile), &profile); err != nil {
		t.Fatal(err)
	}
	if profile.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Errorf("default action is %s", profile.DefaultAction)
	}
	free, bound := map[string]bool{}, map[string]bool{}
	for _, rule := range profile.Syscalls {
		for _, name := range rule.Names {
			if rule.Action == "SCMP_ACT_ALLOW" && len(rule.Args) == 0 {
				free[name] = true
			} else {
				bound[name] = true
			}
		}
	}
	for _, name := range strings.Fields(`io_uring_setup io_uring_enter io_uring_register userfaultfd keyctl add_key request_key
		ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd unshare setns clone clone3 socket personality
		mount umount2 move_mount open_tree fsopen fsmount fsconfig mount_setattr pivot_root chroot bpf perf_event_open
		init_module finit_module delete_module kexec_load kexec_file_load open_by_handle_at name_to_handle_at memfd_create memfd_secret
		reboot swapon swapoff quotactl acct syslog iopl ioperm modify_ldt fanotify_init lookup_dcookie settimeofday clock_settime
		clock_adjtime mbind set_mempolicy move_pages migrate_pages vhangup nfsservctl uselib ustat sysfs`) {
		if free[name] {
			t.Errorf("%s is allowed without a condition", name)
		}
	}
	for _, name := range []string{"clone", "socket", "clone3"} {
		if !bound[name] {
			t.Errorf("%s has no rule of its own", name)
		}
	}
}

func golden(t *testing.T, path string, found []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, found, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(found) {
		t.Errorf("%s differs; if that is meant, run go test with -update and look at the diff.\nfound:\n%s", path, found)
	}
}
