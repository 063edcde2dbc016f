-- A different VM at each request, or the same one again and again: wrk -s wrk.lua URL -- HOW_MANY_VMS
local requests, count, turn = {}, 1, 0

function init(args)
  count = tonumber(args[1]) or 1
  for number = 0, count - 1 do
    -- an odd step visits the VMs of a power of two or ten in no regular order
    local vm = (number * 7919) % count
    requests[number + 1] = wrk.format("GET", "/vm/web-" .. vm .. "/metadata/scheduledevents?api-version=2020-07-01")
  end
end

function request()
  turn = turn % count + 1
  return requests[turn]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %.0f\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99)))
end
