-- wrk -s wrk.lua URL -- HOW_MANY_VMS [new]
-- The same VM again and again, or another one at each request; with "new", no two requests have the same bytes.
local requests, count, turn, new = {}, 1, 0, false

local function path(vm)
  return "/vm/web-" .. vm .. "/metadata/scheduledevents?api-version=2020-07-01"
end

function init(args)
  count, new = tonumber(args[1]) or 1, args[2] == "new"
  for number = 0, count - 1 do
    requests[number + 1] = wrk.format("GET", path((number * 7919) % count)) -- in no regular order
  end
end

function request()
  turn = turn + 1
  if new then
    wrk.headers["X-Turn"] = turn
    return wrk.format("GET", path(turn % count))
  end
  return requests[turn % count + 1]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %.0f\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99)))
end
