package console

import (
	"runtime/debug"
	"strings"
)

// release is the version of a build without a repository, as an image's: -ldflags "-X precis/cmd/processor/console.release=…".
var release string

// Version is the module's, where the program was built as one, else the commit's; or what the build says.
func Version() string {
	if release != "" {
		return release
	}
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
