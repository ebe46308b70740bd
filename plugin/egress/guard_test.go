package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inside are addresses that no guard permits by itself, whatever the port.
var inside = []string{
	"127.0.0.1", "127.255.255.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0.1.2.3", "[::]",
	"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "[fe80::1]",
	"[fe80::1%eth0]", "[fd00:ec2::254]", "[fc00::1]", "[fec0::1]", "100.64.0.1", "100.127.255.255", "198.18.0.1",
	"192.0.0.8", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "240.0.0.1",
	"255.255.255.255", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
	"[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:db8::1]", "[::7f00:1]", "[100::1]", "[3fff::1]", "[5f00::1]",
}

// public are addresses that guards permit with their ports.
var public = []string{"93.184.216.34", "[2606:2800:220:1::1]", "172.32.0.1", "100.128.0.1", "[::ffff:93.184.216.34]"}

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		guard        func([]netip.Prefix) Guard
		open, closed []string // ports
	}{
		{Web, []string{"80", "443"}, []string{"22", "25", "6379", "5432", "0", "8080"}},
		{Postgres, []string{"5432"}, []string{"22", "25", "80", "443", "6379", "0", "5433"}},
	} {
		alone := c.guard(nil)
		for _, port := range c.open {
			for _, host := range inside {
				require.False(t, alone.Permits(netip.MustParseAddrPort(host+":"+port)), "%s:%s", host, port)
			}
			for _, host := range public {
				require.True(t, alone.Permits(netip.MustParseAddrPort(host+":"+port)), "%s:%s", host, port)
				require.NoError(t, alone.Control(t.Context(), "tcp", host+":"+port, nil))
			}
		}
		for _, port := range c.closed {
			require.False(t, alone.Permits(netip.MustParseAddrPort("93.184.216.34:"+port)), port)
		}
		allowing := c.guard([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
		for _, address := range []string{"10.1.2.3:9000", "[::ffff:10.1.2.3]:80", "[fd00::1]:8333"} {
			require.True(t, allowing.Permits(netip.MustParseAddrPort(address)), address)
		}
		require.False(t, allowing.Permits(netip.MustParseAddrPort("127.0.0.1:"+c.open[0])))
	}
	inside := Inside([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	require.True(t, inside.Permits(netip.MustParseAddrPort("10.0.0.1:8080")))
	require.False(t, inside.Permits(netip.MustParseAddrPort("93.184.216.34:443")))
	require.False(t, Guard{}.Permits(netip.MustParseAddrPort("93.184.216.34:443")), "the zero guard")
}

func TestWhatIsDeniedNamesTheAddressAndTheCure(t *testing.T) {
	cure := ": if documents may use it, the operator allows it with --allow-network"
	for address, says := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80 is no public web address", "/var/run/postgresql/.s.PGSQL.5432": "/var/run/postgresql/.s.PGSQL.5432 is no public web address",
	} {
		require.EqualError(t, Web(nil).Control(t.Context(), "", address, nil), says+cure)
		says = strings.Replace(says, "public web address", "public address with Postgres' port 5432", 1)
		require.EqualError(t, Postgres(nil).Control(t.Context(), "", address, nil), says+cure)
	}
}

func TestSecretsGoReadablyOnlyInPrivateNetworksThatAreAllowed(t *testing.T) {
	allow := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("fd00::/8"),
	}
	crm := Cargo{Secrets: []string{"CRM"}}
	refusal := func(g Guard, address string) string {
		if err := g.Control(t.Context(), "tcp", address, nil); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, address := range []string{"10.1.2.3:80", "127.0.0.1:8080", "[fd00::1]:80", "[::ffff:10.0.0.1]:80"} {
		require.Empty(t, refusal(Web(allow).Carrying(crm, "write https://"), address), address)
	}
	require.Equal(t, "8.8.8.8:80: secret CRM would go in clear text to a public address: write https://",
		refusal(Web(allow).Carrying(crm, "write https://"), "8.8.8.8:80"))
	require.Contains(t, refusal(Web(nil).Carrying(crm, "write https://"), "10.1.2.3:80"), "--allow-network",
		"a private network that is not allowed")
	require.Contains(t, refusal(Postgres(nil).Carrying(crm, "write sslmode=require"), "[2a00::1]:5432"),
		"in clear text")
	require.Empty(t, refusal(Web(nil).Carrying(crm, ""), "8.8.8.8:443"), "encrypted")
	require.Empty(t, refusal(Web(nil), "8.8.8.8:80"), "without a secret")
	crm.Held = errors.New("not yet")
	for _, guard := range []Guard{Web(allow).Carrying(crm, ""), Inside(allow).Carrying(crm, "write https://")} {
		err := guard.Control(t.Context(), "tcp", "10.1.2.3:443", nil)
		denied, is := errors.AsType[*DeniedError](err)
		require.True(t, is && denied.Held)
		require.EqualError(t, err, "10.1.2.3:443: secret CRM is held back: not yet")
	}
}
