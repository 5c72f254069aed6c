-- Lets Wireshark and tshark read frames that they do not know:
--   CN-TAG, CNM   IEEE 802.1Qau (tags of rate limiters, messages of QCN)
--   CIM           IEEE 802.1Qcz (messages about isolated flows)
--   BCN           the proposals that led to 802.1Qau
--
--   wireshark -X lua_script:congestion.lua trace.pcapng
--   tshark -X lua_script:congestion.lua -r trace.pcapng -Y "qcn.feedback > 30"

local ether_types = DissectorTable.get("ethertype")

-- What follows a tag, or stands in a message: from its EtherType on.
local function above(buffer, at, packet, tree)
  if buffer:len() >= at + 2 then
    ether_types:try(buffer(at, 2):uint(), buffer(at + 2):tvb(), packet, tree)
  end
end

local tag = Proto("cntag", "Congestion notification tag")
tag.fields.flow = ProtoField.uint16("cntag.flow", "Flow identifier")
function tag.dissector(buffer, packet, tree)
  local part = tree:add(tag, buffer(0, 4))
  part:add(tag.fields.flow, buffer(0, 2))
  above(buffer, 2, packet, tree)
end

-- Congestion point, offset and change of its queue: the same in CNM and BCN.
local function queue(fields, buffer, at, part)
  part:add(fields.point, buffer(at, 8))
  part:add(fields.offset, buffer(at + 8, 2))
  part:add(fields.delta, buffer(at + 10, 2))
end

local function fields_of_queue(proto, name)
  proto.fields.point = ProtoField.uint64(name .. ".cpid", "Congestion point")
  proto.fields.offset = ProtoField.int16(name .. ".offset", "Set point minus queue, in 64 B")
  proto.fields.delta = ProtoField.int16(name .. ".delta", "Growth of the queue, in 64 B")
end

local cnm = Proto("qcn", "Congestion notification message")
cnm.fields.version = ProtoField.uint16("qcn.version", "Version", base.DEC, nil, 0xf000)
cnm.fields.feedback = ProtoField.uint16("qcn.feedback", "Quantized feedback", base.DEC, nil, 0x003f)
fields_of_queue(cnm, "qcn")
cnm.fields.priority = ProtoField.uint16("qcn.priority", "Priority of the sampled frame", base.DEC, nil, 0xe000)
cnm.fields.destination = ProtoField.ether("qcn.destination", "Destination of the sampled frame")
cnm.fields.length = ProtoField.uint16("qcn.length", "Octets of the sampled frame")
cnm.fields.sample = ProtoField.bytes("qcn.sample", "Sampled frame")
function cnm.dissector(buffer, packet, tree)
  packet.cols.protocol = "QCN"
  local part = tree:add(cnm, buffer())
  part:add(cnm.fields.version, buffer(0, 2))
  part:add(cnm.fields.feedback, buffer(0, 2))
  queue(cnm.fields, buffer, 2, part)
  part:add(cnm.fields.priority, buffer(14, 2))
  part:add(cnm.fields.destination, buffer(16, 6))
  part:add(cnm.fields.length, buffer(22, 2))
  local length = buffer(22, 2):uint()
  if length > 0 then part:add(cnm.fields.sample, buffer(24, length)) end
  packet.cols.info = string.format("feedback %d, queue %+d, change %+d (64 B)", bit.band(buffer(0, 2):uint(), 63),
    -buffer(10, 2):int(), buffer(12, 2):int())
end

local bcn = Proto("bcn", "Backward congestion notification")
bcn.fields.version = ProtoField.uint8("bcn.version", "Version")
bcn.fields.signal = ProtoField.uint8("bcn.signal", "Signal", base.HEX)
fields_of_queue(bcn, "bcn")
bcn.fields.sample = ProtoField.bytes("bcn.sample", "Sampled frame")
function bcn.dissector(buffer, packet, tree)
  packet.cols.protocol = "BCN"
  local part = tree:add(bcn, buffer())
  part:add(bcn.fields.version, buffer(0, 1))
  part:add(bcn.fields.signal, buffer(1, 1))
  queue(bcn.fields, buffer, 2, part)
  if buffer:len() > 14 then part:add(bcn.fields.sample, buffer(14)) end
end

local cim = Proto("cim", "Congestion isolation message")
cim.fields.over = ProtoField.bool("cim.delete", "To be isolated no longer", 8, nil, 0x01)
cim.fields.destination = ProtoField.ether("cim.destination", "Destination of the flow")
cim.fields.source = ProtoField.ether("cim.source", "Source of the flow")
cim.fields.vlan = ProtoField.uint16("cim.vlan", "VLAN", base.DEC, nil, 0x0fff)
cim.fields.length = ProtoField.uint16("cim.length", "Octets of a frame of the flow")
cim.fields.sample = ProtoField.bytes("cim.sample", "Frame of the flow")
function cim.dissector(buffer, packet, tree)
  packet.cols.protocol = "CIM"
  local part = tree:add(cim, buffer())
  part:add(cim.fields.over, buffer(0, 1))
  part:add(cim.fields.destination, buffer(1, 6))
  part:add(cim.fields.source, buffer(7, 6))
  part:add(cim.fields.vlan, buffer(13, 2))
  part:add(cim.fields.length, buffer(15, 2))
  local length = buffer(15, 2):uint()
  if length > 0 then part:add(cim.fields.sample, buffer(17, length)) end
end

ether_types:add(0x22e9, tag)
ether_types:add(0x22e7, cnm)
ether_types:add(0x8904, bcn)
ether_types:add(0x89a2, cim)
