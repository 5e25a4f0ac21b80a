package bot

// Points lists the names that OrchestratorOptions.Point is called with, in the order of one
// task's way. Killing the process at any of them must lose nothing and do
// nothing twice. A room behind a port may add its own.
func Points() []string {
	return []string{
		"committed",         // event, key and task are stored; the platform is not acknowledged yet
		"started",           // the task is marked as running
		"inputs-stored",     // the inputs lie in blobs
		"step-recorded",     // a step of the run is journaled and not yet acted on
		"artifacts-stored",  // the run ended, its files lie in blobs, its outcome is not committed
		"outcome-committed", // outcome and deliveries are stored
		"delivery-begun",    // a delivery is marked as being sent
		"delivered",         // the platform has it, and we have not recorded that
		"receipt-recorded",  // the receipt is stored
	}
}
