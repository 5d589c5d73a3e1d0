// The application as one layer, on whatever store: the one line in which a test and a deployment differ.
import { Layer } from "effect"
import { ExecutionRuntime } from "holdfast"
import { OrderLive, RefundLive } from "./order.js"
import { BookLive, ShipmentLive } from "./shipment.js"

export const Fulfilment = Layer.mergeAll(OrderLive, ShipmentLive, RefundLive, BookLive).pipe(
  Layer.provideMerge(ExecutionRuntime.layer())
)
