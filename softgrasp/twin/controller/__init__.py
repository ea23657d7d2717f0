"""The pneumatic controller: a simulated one behind Modbus TCP, and a client for any of them."""
