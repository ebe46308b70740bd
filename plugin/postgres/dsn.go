package postgres

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// settings are what a DSN says, by the names that a text of keywords and values has for it: host, port, dbname, user, …
type settings map[string]string

var errNoDSN = errors.New("no DSN")

// parseDSN reads a DSN in one of its two forms. Its error holds nothing of the DSN, which may be a secret.
func parseDSN(dsn string) (settings, error) {
	for _, scheme := range []string{"postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(dsn, scheme); ok {
			return parseURL(rest)
		}
	}
	return parseWords(dsn)
}

// Places returns where a DSN leads: HOST:PORT, or the folder of a socket, each once. It is empty for one that names no
// host. The error holds nothing of the DSN.
func Places(dsn string) (places []string, err error) {
	said, err := parseDSN(dsn)
	if err != nil || said["host"] == "" {
		return nil, err
	}
	ports := strings.Split(said["port"], ",")
	for i, host := range strings.Split(said["host"], ",") {
		port := ports[0] // as the driver has it, if there are fewer ports than hosts
		if i < len(ports) {
			port = ports[i]
		}
		place := net.JoinHostPort(strings.ToLower(host), cmp.Or(port, "5432"))
		if strings.HasPrefix(host, "/") {
			place = host
		}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places, nil
}

// Told returns what is recorded of a DSN and shown to people: where it leads, and the name of the database. The error
// holds nothing of the DSN.
func Told(dsn string) (told string, err error) {
	said, err := parseDSN(dsn)
	if err != nil {
		return "", err
	}
	return settings{"host": said["host"], "port": said["port"], "dbname": said["dbname"]}.words(), nil
}

// parseURL reads what follows the scheme: USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE&…
func parseURL(rest string) (settings, error) {
	var pairs [][2]string
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		user, password, _ := strings.Cut(rest[:i], ":")
		pairs, rest = append(pairs, [2]string{"user", user}, [2]string{"password", password}), rest[i+1:]
	}
	rest, query, _ := strings.Cut(rest, "?")
	servers, database, _ := strings.Cut(rest, "/")
	hosts, ports := cutServers(servers)
	pairs = append(pairs, [2]string{"host", hosts}, [2]string{"port", ports}, [2]string{"dbname", database})
	pairs = slices.DeleteFunc(pairs, func(pair [2]string) bool { return pair[1] == "" })
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if pair != "" && (!ok || strings.Contains(value, "=")) {
			return nil, errNoDSN
		}
		if pair != "" {
			pairs = append(pairs, [2]string{name, value})
		}
	}
	s := settings{}
	for _, pair := range pairs {
		name, err := url.PathUnescape(strings.Trim(pair[0], " "))
		value, err2 := url.PathUnescape(strings.Trim(pair[1], " "))
		if err != nil || err2 != nil {
			return nil, errNoDSN
		}
		if name == "ssl" && value == "true" {
			name, value = "sslmode", "require"
		}
		s[name] = value
	}
	return s.checked()
}

// cutServers returns the hosts and the ports of HOST:PORT,[HOST]:PORT,…, each separated by commas.
func cutServers(servers string) (hosts, ports string) {
	for i, server := range strings.Split(servers, ",") {
		host, port, _ := strings.Cut(server, ":")
		if inside, ok := strings.CutPrefix(server, "["); ok { // an address of IPv6
			host, port, _ = strings.Cut(inside, "]")
			port = strings.TrimPrefix(port, ":")
		}
		if i > 0 {
			host, port = ","+host, ","+port
		}
		hosts, ports = hosts+host, ports+port
	}
	return hosts, ports
}

// parseWords reads name=value name='a value' …; \ before a character takes it literally.
func parseWords(dsn string) (settings, error) {
	const blank = " \t\n\r\v\f"
	s := settings{}
	for rest := strings.Trim(dsn, blank); rest != ""; rest = strings.TrimLeft(rest, blank) {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, errNoDSN
		}
		after = strings.TrimLeft(after, blank)
		ends, inside := blank, strings.HasPrefix(after, "'")
		if inside {
			ends, after = "'", after[1:]
		}
		var value strings.Builder
		i := 0
		for ; i < len(after) && !strings.Contains(ends, after[i:i+1]); i++ {
			if after[i] == '\\' {
				if i++; i == len(after) {
					break
				}
			}
			value.WriteByte(after[i])
		}
		if inside && i >= len(after) {
			return nil, errNoDSN
		}
		if name = strings.Trim(name, blank); name != "user" || value.Len() > 0 {
			s[name] = value.String()
		}
		rest = after[min(len(after), i+1):]
	}
	return s.checked()
}

// checked rejects names that are none, and gives the database one of its two.
func (s settings) checked() (settings, error) {
	if database, ok := s["database"]; ok {
		delete(s, "database")
		s["dbname"] = database
	}
	for name, value := range s {
		if name == "" || strings.ContainsAny(name, " \t\n\r\v\f'\\=\x00") || strings.Contains(value, "\x00") {
			return nil, errNoDSN
		}
	}
	return s, nil
}

func (s settings) has(name string) bool {
	_, ok := s[name]
	return ok
}

// words returns the settings as a text of keywords and values, in which nothing has two meanings.
func (s settings) words() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		text.WriteString(name + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s[name]) + "' ")
	}
	return text.String()
}
