-- wrk -s wrk.lua URL -- HOW_MANY_VMS [new]
-- The same VM again and again, or another one at each request; with "new", no two requests have the same bytes.
local requests, count, turn, new = {}, 1, 0, false
local fields -- in one order: wrk.format goes by that of a Lua table, which is another one in each process

local function get(vm, more)
  local path = "/vm/web-" .. vm .. "/metadata/scheduledevents?api-version=2020-07-01"
  return "GET " .. path .. " HTTP/1.1\r\n" .. fields .. (more or "") .. "\r\n"
end

function init(args)
  count, new = tonumber(args[1]) or 1, args[2] == "new"
  fields = "Host: " .. wrk.headers["Host"] .. "\r\nMetadata: true\r\n"
  if wrk.headers["Connection"] then fields = fields .. "Connection: close\r\n" end
  for number = 0, count - 1 do
    requests[number + 1] = get((number * 7919) % count) -- in no regular order
  end
end

function request()
  turn = turn + 1
  if new then return get(turn % count, "X-Turn: " .. turn .. "\r\n") end
  return requests[turn % count + 1]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("BENCH %d %d %d %.0f\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99)))
end
