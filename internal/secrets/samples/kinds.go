package samples

// Kinds are a hundred and more kinds of secrets.
func Kinds() []Kind {
	var all []Kind
	for _, some := range [][]Kind{prefixed(), named(), inURLs(), inFiles(), inCommands()} {
		all = append(all, some...)
	}
	return all
}

// place is a text around a token that says nothing of it.
func (r *Random) place(secret string) Sample {
	places := []Sample{
		{"", "", "\n"}, {"using ", "", " for this run\n"}, {"value (", "", ")\n"}, {`["`, "", `","next"]`}, {"x='", "", "'; echo done\n"},
		{`{"out":"line one\n`, "", `\nline three"}`}, {"| ci | ", "", "|\n"}, {"a,b,", "", ",d\n"}, {"got: ", "", "…\n"}, {"<td>", "", "</td>"},
		{"- `", "", "`\n"}, {"https://x.test/?k=", "", "&page=2\n"}, {"\t", "", "\r\n"}, {"was ", "", ". Rotate it.\n"}, {"%3D", "", "%26"}, {`\u003d`, "", `\u0026`},
	}
	s := places[r.IntN(len(places))]
	s.Secret = secret
	return s
}

func token(name string, draw func(r *Random) string) Kind {
	return Kind{name, func(r *Random) Sample { return r.place(draw(r)) }}
}

func prefix(name, begins string, n int, alphabet string) Kind {
	return token(name, func(r *Random) string { return begins + r.Of(n, alphabet) })
}

func prefixed() []Kind {
	return []Kind{
		prefix("aws key id", "AK"+"IA", 16, base32),
		prefix("github pat", "gh"+"p_", 36, alnum),
		prefix("github oauth", "gh"+"o_", 36, alnum),
		prefix("github app", "gh"+"s_", 36, alnum),
		prefix("github user", "gh"+"u_", 36, alnum),
		prefix("github refresh", "gh"+"r_", 36, alnum),
		prefix("github fine-grained pat", "github"+"_pat_", 82, word),
		prefix("gitlab pat", "gl"+"pat-", 20, url64),
		prefix("gitlab runner", "gl"+"rt-", 20, url64),
		prefix("gitlab deploy", "gl"+"dt-", 20, url64),
		prefix("gitlab trigger", "gl"+"ptt-", 40, hex),
		token("slack bot", func(r *Random) string {
			return "xo" + "xb-" + r.Of(12, "123456789") + "-" + r.Of(12, "123456789") + "-" + r.Of(24, alnum)
		}),
		token("slack user", func(r *Random) string {
			return "xo" + "xp-" + r.Of(12, "123456789") + "-" + r.Of(12, "123456789") + "-" + r.Of(12, "123456789") + "-" + r.Of(32, hex)
		}),
		token("slack app", func(r *Random) string {
			return "xa" + "pp-1-A" + r.Of(10, base32) + "-" + r.Of(13, "123456789") + "-" + r.Of(64, hex)
		}),
		prefix("stripe live", "sk"+"_live_", 24, alnum),
		prefix("stripe test", "sk"+"_test_", 24, alnum),
		prefix("stripe restricted", "rk"+"_live_", 24, alnum),
		prefix("stripe webhook", "wh"+"sec_", 32, alnum),
		token("openai project", func(r *Random) string {
			return "sk" + "-proj-" + r.Of(74, alnum) + "T3Blbk" + "FJ" + r.Of(74, alnum)
		}),
		token("openai legacy", func(r *Random) string {
			return "sk" + "-" + r.Of(20, alnum) + "T3Blbk" + "FJ" + r.Of(20, alnum)
		}),
		token("anthropic", func(r *Random) string { return "sk" + "-ant-api03-" + r.Of(93, url64) + "AA" }),
		token("anthropic admin", func(r *Random) string { return "sk" + "-ant-admin01-" + r.Of(93, url64) + "AA" }),
		prefix("openrouter", "sk"+"-or-v1-", 64, hex),
		prefix("hugging face", "hf"+"_", 34, upper+lower),
		prefix("docker hub pat", "dckr"+"_pat_", 27, url64),
		prefix("docker hub oat", "dckr"+"_oat_", 32, url64),
		prefix("supabase", "sb"+"p_", 40, hex),
		prefix("npm", "np"+"m_", 36, alnum),
		token("pypi", func(r *Random) string { return "py" + "pi-AgEIcHlwaS5vcmc" + r.Of(120, url64) }),
		prefix("rubygems", "ruby"+"gems_", 48, hex),
		token("sendgrid", func(r *Random) string { return "S" + "G." + r.Of(22, url64) + "." + r.Of(43, url64) }),
		prefix("digitalocean", "dop"+"_v1_", 64, hex),
		prefix("shopify", "shp"+"at_", 32, hex),
		prefix("databricks", "da"+"pi", 32, hex),
		prefix("vault", "hv"+"s.", 95, word),
		token("terraform cloud", func(r *Random) string { return r.Of(14, alnum) + ".atlas" + "v1." + r.Of(67, url64) }),
		prefix("doppler", "dp"+".pt.", 43, alnum),
		prefix("grafana service account", "gl"+"sa_", 32, alnum),
		prefix("new relic", "NR"+"AK-", 27, upper+digits),
		prefix("linear", "lin"+"_api_", 40, alnum),
		prefix("notion", "nt"+"n_", 46, alnum),
		token("postman", func(r *Random) string { return "PM" + "AK-" + r.Of(24, hex) + "-" + r.Of(34, hex) }),
		prefix("planetscale", "pscale"+"_pw_", 43, url64),
		prefix("age", "AGE-SECRET"+"-KEY-1", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
		prefix("figma", "fig"+"d_", 40, url64),
		prefix("groq", "gs"+"k_", 52, alnum),
		prefix("replicate", "r"+"8_", 37, alnum),
		prefix("perplexity", "pp"+"lx-", 48, alnum),
		prefix("xai", "xa"+"i-", 80, alnum),
		prefix("atlassian", "ATA"+"TT3", 186, url64),
		prefix("tailscale", "tskey"+"-auth-", 30, alnum),
		prefix("gcp api key", "AI"+"za", 35, url64),
		prefix("google client secret", "GOC"+"SPX-", 28, url64),
		prefix("google access token", "ya"+"29.", 120, url64),
		prefix("twilio", "S"+"K", 32, hex),
		token("jwt", func(r *Random) string {
			return "ey" + "J" + r.Of(33, alnum) + ".ey" + "J" + r.Of(60, alnum) + "." + r.Of(43, url64)
		}),
		token("telegram bot", func(r *Random) string { return r.Of(10, "123456789") + ":A" + "A" + r.Of(33, url64) }),
		token("htpasswd apr1", func(r *Random) string { return "$ap" + "r1$" + r.Of(8, alnum) + "$" + r.Of(22, alnum+"./") }),
		token("bcrypt", func(r *Random) string { return r.One("$2y", "$2b", "$2a") + "$12$" + r.Of(53, alnum+"./") }),
		token("argon2", func(r *Random) string {
			return "$arg" + "on2id$v=19$m=65536,t=3,p=4$" + r.Of(22, std64) + "$" + r.Of(43, std64)
		}),
	}
}

// in is a kind with its own surroundings; a %-less template keeps it readable.
func in(name string, draw func(r *Random) Sample) Kind { return Kind{name, draw} }
