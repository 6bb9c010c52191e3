package console

import (
	"runtime/debug"
	"strings"
)

// Version is the module's, where the program was built as one, else the commit's.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}

// VersionDate is the day of the commit that the program was built from; empty where that is unknown.
func VersionDate() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			day, _, _ := strings.Cut(setting.Value, "T")
			return day
		}
	}
	return ""
}
