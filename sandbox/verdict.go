package sandbox

// Verdict is why a program ended.
type Verdict string

// The verdicts.
const (
	OK        Verdict = "ok"
	Exit      Verdict = "exit"      // the program ended by itself, not well
	Wall      Verdict = "wall"      // wall-clock limit
	CPU       Verdict = "cpu"       // CPU-time limit
	OOM       Verdict = "oom"       // memory limit
	PIDs      Verdict = "pids"      // process limit
	Disk      Verdict = "disk"      // workspace, /tmp or inodes full
	Output    Verdict = "output"    // wrote more than output_stop
	Cancelled Verdict = "cancelled" // the caller gave up
	Image     Verdict = "image"     // image absent or not the one recorded
	Engine    Verdict = "engine"    // the engine failed or lost the container
	Internal  Verdict = "internal"  // our own fault, or a guest that broke the protocol
)
