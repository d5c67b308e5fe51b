package gangwaytest

import "time"

// limiter counts as nginx does with limit_req ... nodelay (ngx_http_limit_req_module.c): in thousandths
// of a request and milliseconds. Burst plus one requests pass at once, then one per interval; a refused
// request costs nothing.
type limiter struct {
	Excess int64
	Last   time.Time
}

func (l *limiter) allow(now time.Time, perMinute, burst int) bool {
	if perMinute <= 0 {
		return true
	}
	var excess int64
	if !l.Last.IsZero() {
		rate := int64(perMinute) * 1000 / 60
		passed := max(0, now.Sub(l.Last).Milliseconds())
		excess = max(0, l.Excess-rate*passed/1000+1000)
	}
	if excess > int64(burst)*1000 {
		return false
	}
	l.Excess, l.Last = excess, now
	return true
}
