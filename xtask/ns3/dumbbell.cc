// TCP flows through one narrow link in ns-3, for comparison with Narrows: see mod.rs of `cargo xtask ns3`.
//
// Host i on the left sends to host i on the right. Flows have no end and begin one after the other, or are read from a file with lines
// of host, bytes and start in seconds. Prints what was measured as JSON.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

struct Settings {
  std::string control = "TcpCubic", discipline = "fifo", flows_file;
  uint32_t hosts = 1, queue = 100, mark_above = 0, ack_every = 2;
  uint64_t rate = 100'000'000, host_rate = 1'000'000'000;
  double delay = 0.009, host_delay = 0.0005, min_rto = 0.2, start_every = 0.1, from = 10, until = 30;

  void read(int count, char **words) {
    CommandLine line;
    line.AddValue("control", "TypeId of the congestion control", control);
    line.AddValue("discipline", "fifo, step, or the TypeId of a queue disc", discipline);
    line.AddValue("flows-file", "lines of host, bytes, start in seconds", flows_file);
    line.AddValue("hosts", "hosts at each end", hosts);
    line.AddValue("queue", "room of the queue, packets", queue);
    line.AddValue("mark-above", "packets above which step marks", mark_above);
    line.AddValue("ack-every", "segments for each acknowledgment", ack_every);
    line.AddValue("rate", "of the narrow link, b/s", rate);
    line.AddValue("host-rate", "of the links of hosts, b/s", host_rate);
    line.AddValue("delay", "of the narrow link, s", delay);
    line.AddValue("host-delay", "of a link of a host, s", host_delay);
    line.AddValue("min-rto", "s", min_rto);
    line.AddValue("start-every", "time between starts of flows without an end, s", start_every);
    line.AddValue("from", "beginning of the measured time, s", from);
    line.AddValue("until", "its end and that of the run, s", until);
    line.Parse(count, words);
  }

  // Those that Narrows has by default: RFC 6298, RFC 6928, 40 ms for an acknowledgment.
  void apply() const {
    const uint32_t buffer = 64u << 20;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + control));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ack_every));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(min_rto)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    if (control == "TcpDctcp") {
      Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }
  }
};

struct Flow {
  uint32_t host;
  uint64_t bytes;
  double start, end;
};

// What happens at the narrow link.
struct Narrow {
  double from = 0, last = 0, waited = 0;
  uint32_t in_device = 0, in_discipline = 0;
  uint64_t sent = 0, drops = 0, marks = 0;

  void wait() {
    const double now = std::max(Simulator::Now().GetSeconds(), from);
    waited += (now - last) * (in_device + in_discipline);
    last = now;
  }
  void device(uint32_t, uint32_t bytes) {
    wait();
    in_device = bytes;
  }
  void disc(uint32_t, uint32_t bytes) {
    wait();
    in_discipline = bytes;
  }
  void leave(Ptr<const Packet> packet) {
    sent += counts() ? packet->GetSize() : 0;
  }
  bool counts() const { return Simulator::Now().GetSeconds() >= from; }
  void drop(Ptr<const Packet>) { drops += counts(); }
  void drop_item(Ptr<const QueueDiscItem>) { drops += counts(); }
  void mark(Ptr<const QueueDiscItem>, const char *) { marks += counts(); }
};

// At both ends: a device under a queue disc has room for one packet. Returns that of the first.
static Ptr<QueueDisc> install_discipline(const Settings &settings, const NetDeviceContainer &devices) {
  TrafficControlHelper helper;
  const std::string room = std::to_string(settings.queue) + "p";
  if (settings.discipline == "fifo") {
    return nullptr;
  } else if (settings.discipline == "step") {
    const double threshold = settings.mark_above;
    helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(room), "MinTh", DoubleValue(threshold), "MaxTh",
                            DoubleValue(threshold), "Gentle", BooleanValue(false), "QW", DoubleValue(1), "UseEcn", BooleanValue(true), "UseHardDrop",
                            BooleanValue(false), "MeanPktSize", UintegerValue(1500));
  } else {
    helper.SetRootQueueDisc("ns3::" + settings.discipline, "MaxSize", StringValue(room));
  }
  return helper.Install(devices).Get(0);
}

int main(int count, char **words) {
  Settings settings;
  settings.read(count, words);
  settings.apply();
  Narrow narrow;
  narrow.from = narrow.last = settings.from;

  NodeContainer left, right, switches;
  left.Create(settings.hosts);
  right.Create(settings.hosts);
  switches.Create(2);
  InternetStackHelper stack;
  stack.InstallAll();

  PointToPointHelper access, link;
  access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(settings.host_rate)));
  access.SetChannelAttribute("Delay", TimeValue(Seconds(settings.host_delay)));
  access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
  const uint32_t in_device = settings.discipline == "fifo" ? settings.queue : 1;
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(settings.rate)));
  link.SetChannelAttribute("Delay", TimeValue(Seconds(settings.delay)));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(in_device) + "p"));

  NetDeviceContainer narrow_link = link.Install(switches), hosts;
  const Ptr<QueueDisc> disc = install_discipline(settings, narrow_link);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  addresses.Assign(narrow_link);
  std::vector<Ipv4Address> receivers;
  for (uint32_t host = 0; host < settings.hosts; host++) {
    const NetDeviceContainer sender = access.Install(left.Get(host), switches.Get(0));
    const NetDeviceContainer receiver = access.Install(right.Get(host), switches.Get(1));
    hosts.Add(sender);
    hosts.Add(receiver);
    addresses.NewNetwork();
    addresses.Assign(sender);
    addresses.NewNetwork();
    receivers.push_back(addresses.Assign(receiver).GetAddress(0));
  }
  // Addresses bring queue discs of their own.
  TrafficControlHelper none;
  none.Uninstall(hosts);
  if (!disc) {
    none.Uninstall(narrow_link);
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  const auto device = DynamicCast<PointToPointNetDevice>(narrow_link.Get(0));
  device->GetQueue()->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Narrow::device, &narrow));
  device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Narrow::leave, &narrow));
  if (disc) {
    disc->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Narrow::disc, &narrow));
    disc->TraceConnectWithoutContext("Drop", MakeCallback(&Narrow::drop_item, &narrow));
    disc->TraceConnectWithoutContext("Mark", MakeCallback(&Narrow::mark, &narrow));
  } else {
    const auto control = switches.Get(0)->GetObject<TrafficControlLayer>();
    control->TraceConnectWithoutContext("TcDrop", MakeCallback(&Narrow::drop, &narrow));
  }

  std::vector<Flow> flows;
  if (settings.flows_file.empty()) {
    for (uint32_t host = 0; host < settings.hosts; host++) {
      flows.push_back({host, 0, settings.start_every * host, -1});
    }
  } else {
    std::ifstream file(settings.flows_file);
    for (Flow flow{0, 0, 0, -1}; file >> flow.host >> flow.bytes >> flow.start;) {
      flows.push_back(flow);
    }
  }
  std::vector<Ptr<PacketSink>> sinks;
  std::vector<uint64_t> arrived(flows.size()), before(flows.size());
  for (uint32_t number = 0; number < flows.size(); number++) {
    Flow &flow = flows[number];
    const uint16_t port = 1000 + number;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sinks.push_back(DynamicCast<PacketSink>(sink.Install(right.Get(flow.host)).Get(0)));
    sinks.back()->TraceConnectWithoutContext(
        "Rx", Callback<void, Ptr<const Packet>, const Address &>([&, number](Ptr<const Packet> packet, const Address &) {
          arrived[number] += packet->GetSize();
          if (arrived[number] == flows[number].bytes) {
            flows[number].end = Simulator::Now().GetSeconds();
          }
        }));
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(receivers[flow.host], port));
    sender.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
    sender.SetAttribute("SendSize", UintegerValue(flow.bytes ? std::min<uint64_t>(flow.bytes, 65536) : 65536));
    sender.Install(left.Get(flow.host)).Get(0)->SetStartTime(Seconds(flow.start));
  }
  Simulator::Schedule(Seconds(settings.from), [&] { before = arrived; });
  Simulator::Stop(Seconds(settings.until));
  Simulator::Run();
  narrow.wait();

  const double measured = settings.until - settings.from;
  std::printf("{\"goodput_bps\":[");
  for (size_t number = 0; number < flows.size(); number++) {
    std::printf("%s%.17g", number ? "," : "", (arrived[number] - before[number]) * 8 / measured);
  }
  std::printf("],\"flows\":[");
  for (size_t number = 0; number < flows.size(); number++) {
    const Flow &flow = flows[number];
    const double took = flow.end < 0 ? -1 : flow.end - flow.start;
    std::printf("%s{\"bytes\":%lu,\"took_s\":%.17g}", number ? "," : "", flow.bytes, took);
  }
  std::printf("],\"queue_s\":%.17g,\"drops\":%lu,\"marks\":%lu}\n", narrow.waited / std::max<uint64_t>(narrow.sent, 1),
              narrow.drops, narrow.marks);
  Simulator::Destroy();
}
