// Package guest embeds the Python package that runs inside a session: the
// supervisor that is PID 1, and the modules user programs import as sandpiper.
//
// The container's command is Loader: it reads Archive from stdin into
// /run/sandpiper/lib and becomes sandpiper/_guest/supervisor.py, so any image
// with Python 3.9 or newer serves, and host and guest are always of one
// version. From then on both sides speak in frames (sandpiper/_guest/frames.py):
// 4 bytes of length, 1 byte of kind, a JSON object on one line, raw bytes.
//
// Everything below sandpiper/ is on the path of every program, also of a
// Python that is started from bash. Only sandpiper/_guest is imported by the
// supervisor, which must stay small: it lives in every ready session.
package guest
