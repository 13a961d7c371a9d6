#include "ctl/image/image_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/join.h"
#include "common/message/message_json.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ImageInfo;
using supervisor::v1::ImageLayer;

constexpr size_t kShortDigest = sizeof("sha256:") - 1 + 12;
constexpr size_t kColumn = 13;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

uint64_t PackedBytes(const ImageInfo& image) {
  uint64_t bytes = 0;
  for (const ImageLayer& layer : image.layers()) bytes += layer.bytes();
  return bytes;
}

std::string OwnerText(uint32_t uid) { return uid == 0 ? "root" : "uid " + std::to_string(uid); }

// As an array of JSON has it: where one word ends is seen.
template <typename Words>
std::string WordsText(const Words& words) {
  if (words.empty()) return "";
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(word);
  return list.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// One line for each value; nothing for none.
void Add(const std::string& what, const std::vector<std::string>& values, std::string* out) {
  std::string label = what;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    label.resize(std::max(label.size() + 2, kColumn), ' ');
    *out += label + Safe(value) + "\n";
    label.clear();
  }
}

Json Parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

}  // namespace

std::string PinnedName(const ImageInfo& image, const std::string& name) {
  return Safe(name.empty() ? image.digest() : name + "@" + image.digest());
}

std::string ImageTable(const supervisor::v1::ListImagesResponse& response, bool owners) {
  std::vector<std::string> header = {"NAME", "DIGEST", "SIZE", "LAYERS", "PLATFORM", "CREATED"};
  if (owners) header.insert(header.begin(), "OWNER");
  std::vector<std::vector<std::string>> rows;
  for (const ImageInfo& image : response.images()) {
    std::vector<std::string> names(image.names().begin(), image.names().end());
    if (names.empty()) names.emplace_back("-");
    for (const std::string& name : names) {
      std::vector<std::string> row = {Safe(name),
                                      Safe(image.digest().substr(0, kShortDigest)),
                                      FormatSize(PackedBytes(image)),
                                      std::to_string(image.layers_size()),
                                      Safe(image.os() + "/" + image.architecture()),
                                      Safe(image.created_at())};
      if (owners) row.insert(row.begin(), OwnerText(image.owner_uid()));
      rows.push_back(std::move(row));
    }
  }
  std::string used = "used " + FormatSize(response.used_bytes());
  if (response.quota_bytes() > 0) used += " of " + FormatSize(response.quota_bytes());
  return (rows.empty() ? "no images\n" : FormatTable(header, rows)) + used + "\n";
}

std::string ImageText(const ImageInfo& image) {
  std::string out;
  Add("name", {image.names().begin(), image.names().end()}, &out);
  Add("digest", {image.digest()}, &out);
  Add("owner", {OwnerText(image.owner_uid())}, &out);
  Add("created", {image.created_at()}, &out);
  Add("platform", {image.os() + "/" + image.architecture()}, &out);
  Add("signed by", {image.signed_by()}, &out);
  Add("user", {image.user()}, &out);
  Add("directory", {image.working_directory()}, &out);
  Add("entrypoint", {WordsText(image.entrypoint())}, &out);
  Add("command", {WordsText(image.command())}, &out);
  Add("env", {image.env().begin(), image.env().end()}, &out);
  Add("ports", {image.exposed_ports().begin(), image.exposed_ports().end()}, &out);
  Add("volumes", {image.volumes().begin(), image.volumes().end()}, &out);
  std::vector<std::string> labels;
  for (const auto& [name, value] : image.labels()) labels.push_back(name + "=" + value);
  std::sort(labels.begin(), labels.end());
  Add("labels", labels, &out);
  std::vector<std::vector<std::string>> rows;
  for (const ImageLayer& layer : image.layers()) {
    rows.push_back({Safe(layer.digest()), FormatSize(layer.bytes()),
                    FormatSize(layer.unpacked_bytes()), std::to_string(layer.entries()),
                    std::to_string(layer.set_id_files())});
  }
  if (rows.empty()) return out;
  return out + FormatTable({"LAYER", "PACKED", "UNPACKED", "ENTRIES", "SET-ID LEFT OUT"}, rows);
}

Json ImageJson(const supervisor::v1::InspectImageResponse& response) {
  return {{"image", message::ToJson(response.image())},
          {"manifest", Parsed(response.manifest())},
          {"config", Parsed(response.config())}};
}

}  // namespace odyssey::ctl
