// Package config makes the configuration that is in force from defaults, a YAML file, PRECIS_…
// variables and flags, each beating the one before, and remembers where every value came from.
//
// Load is the only way in. A Config it returns is complete and valid: what is wrong is refused there,
// with the key, its place and what is allowed, so that nothing starts on settings nobody meant.
//
// # Keys
//
// A key is a path such as nats.tls.ca, policies[0].tool_output.over_chars or providers.main.model.
// The variable of a key is PRECIS_ and the path in capitals with every separator an underscore:
// PRECIS_NATS_TLS_CA, PRECIS_POLICIES_0_TOOL_OUTPUT_OVER_CHARS, PRECIS_PROVIDERS_MAIN_MODEL. A variable
// sets what is there already; it can't add a policy or a provider. An empty variable counts as unset,
// because container tools pass empty ones on for what nobody gave. A list of words is separated by commas.
//
// # What replaces and what merges
//
// Each policy in the file starts from summarize.Default, and each provider from the defaults of its
// kind (main and summarizer have one by themselves); the lists themselves replace the built-in ones. Within a policy, trigger, keep and staleness.on
// replace their default whole: a condition merged out of two would be one that nobody wrote.
//
// # Limits
//
// One YAML document. Secrets never stand in the configuration: a key names the variable that holds one,
// and the value is kept in a field that is never printed.
package config
