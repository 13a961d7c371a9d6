#ifndef ODYSSEY_SUPERVISOR_RPC_TRANSFER_CALLS_H_
#define ODYSSEY_SUPERVISOR_RPC_TRANSFER_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

// The streams of InjectFiles and CollectFiles: messages to and from file_transfer.h. Blocking.
Status ReceiveFiles(Broker* broker, const grpc::ServerContext& context,
                    grpc::ServerReaderInterface<v1::InjectFilesRequest>* reader,
                    v1::InjectFilesResponse* response);
Status SendFiles(Broker* broker, const v1::CollectFilesRequest& request,
                 grpc::ServerWriterInterface<v1::CollectFilesResponse>* writer);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_TRANSFER_CALLS_H_
